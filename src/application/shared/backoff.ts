import { Duration, Effect, Random, Schedule } from "effect"

/** Exponential backoff with jitter: delays double from `initial` to `max`. */
export interface Backoff {
  readonly initial: Duration.Duration
  readonly max: Duration.Duration
}

/** For reconnects: an attempt is cheap, and most outages last seconds. */
export const reconnectBackoff: Backoff = { initial: Duration.millis(500), max: Duration.seconds(10) }

/** For restarts: each starts a process, which is expensive and may exit at once. */
export const restartBackoff: Backoff = { initial: Duration.millis(500), max: Duration.minutes(1) }

/** Largest deviation of a delay, as a fraction of it. */
const jitter = 0.2

/** The delay after an attempt; the first is 1. */
export const backoffDelay = ({ initial, max }: Backoff, attempt: number): Effect.Effect<Duration.Duration> => {
  const doubled = Duration.toMillis(initial) * 2 ** Math.min(attempt - 1, 30)
  const capped = Math.min(doubled, Duration.toMillis(max))
  return Effect.map(Random.nextBetween(1 - jitter, 1 + jitter), (factor) =>
    Duration.millis(Math.round(capped * factor))
  )
}

/** The delays of {@link backoffDelay} as an infinite schedule. */
export const backoffSchedule = (backoff: Backoff): Schedule.Schedule<number> =>
  Schedule.modifyDelay(Schedule.forever, ({ attempt }) => backoffDelay(backoff, attempt))
