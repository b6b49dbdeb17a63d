import { Duration, Effect, Random, Schedule } from "effect"

/** Waits before something is tried again: doubling from the first to the longest, never in step with others. */
export interface BackOff {
  readonly first: Duration.Duration
  readonly most: Duration.Duration
}

/**
 * Before whoever has lost a server, or cannot get in, asks again: what is away is back within seconds, and asking costs
 * next to nothing.
 */
export const comingBack: BackOff = { first: Duration.millis(500), most: Duration.seconds(10) }

/** Before what has ended is started again: that takes a process, which may be dear, and may end at once every time. */
export const startingAgain: BackOff = { first: Duration.millis(500), most: Duration.minutes(1) }

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

/** The same waits for whatever takes a schedule; it never ends by itself. */
export const waits = (backOff: BackOff): Schedule.Schedule<number> =>
  Schedule.modifyDelay(Schedule.forever, ({ attempt }) => waitAfter(backOff, attempt))
