import { Duration, Effect, Random, Schedule } from "effect"

/** Waits before something is tried again: doubling from the first to the longest, never in step with others. */
export interface Backoff {
  readonly initial: Duration.Duration
  readonly max: Duration.Duration
}

/**
 * Before whoever has lost a server, or cannot get in, asks again: what is away is back within seconds, and asking costs
 * next to nothing.
 */
export const reconnectBackoff: Backoff = { initial: Duration.millis(500), max: Duration.seconds(10) }

/** Before what has ended is started again: that takes a process, which may be dear, and may end at once every time. */
export const restartBackoff: Backoff = { initial: Duration.millis(500), max: Duration.minutes(1) }

/** How far a wait may be from the usual one, as a share of it. */
const jitter = 0.2

/** How long to wait after so many attempts, the first being 1. */
export const backoffDelay = (
  { initial, max }: Backoff,
  attempt: number
): Effect.Effect<Duration.Duration> => {
  const doubled = Duration.toMillis(initial) * 2 ** Math.min(attempt - 1, 30)
  const capped = Math.min(doubled, Duration.toMillis(max))
  return Effect.map(Random.nextBetween(1 - jitter, 1 + jitter), (factor) =>
    Duration.millis(Math.round(capped * factor))
  )
}

/** The same waits for whatever takes a schedule; it never ends by itself. */
export const backoffSchedule = (backoff: Backoff): Schedule.Schedule<number> =>
  Schedule.modifyDelay(Schedule.forever, ({ attempt }) => backoffDelay(backoff, attempt))
