import { Duration, Effect, Random } from "effect"

/** Waits before something is tried again: doubling from the first to the longest, never in step with others. */
export interface BackOff {
  readonly first: Duration.Duration
  readonly most: Duration.Duration
}

/** How far a wait may be from the usual one, as a share of it. */
const spread = 0.2

/** How long to wait after so many attempts, the first being 1. */
export const waitAfter = ({ first, most }: BackOff, attempt: number): Effect.Effect<Duration.Duration> => {
  const doubled = Duration.toMillis(first) * 2 ** Math.min(attempt - 1, 30)
  const usual = Math.min(doubled, Duration.toMillis(most))
  return Effect.map(Random.nextBetween(1 - spread, 1 + spread), (factor) =>
    Duration.millis(Math.round(usual * factor))
  )
}
