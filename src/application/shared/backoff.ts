import { Duration, Effect, Random } from "effect"
import { type Backoff, backoffMillis, maxJitter } from "../../domain/time/backoff.ts"

/** For reconnects: an attempt is cheap, and most outages last seconds. */
export const reconnectBackoff: Backoff = { initial: Duration.millis(500), max: Duration.seconds(10) }

/** The random part of a delay, as a fraction of it. */
export const nextJitter: Effect.Effect<number> = Random.nextBetween(-maxJitter, maxJitter)

/** The delay after an attempt; the first is 1. */
export const backoffDelay = (backoff: Backoff, attempt: number): Effect.Effect<Duration.Duration> =>
  Effect.map(nextJitter, (jitter) => Duration.millis(backoffMillis(backoff, attempt, jitter)))
