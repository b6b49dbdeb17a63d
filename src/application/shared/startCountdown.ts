import { Clock, Duration, Effect } from "effect"

/** Starts a countdown that several steps share. The inner effect gives the remaining time, never a negative one. */
export const startCountdown = (timeout: Duration.Duration): Effect.Effect<Effect.Effect<Duration.Duration>> =>
  Effect.map(Clock.currentTimeMillis, (start) =>
    Effect.map(Clock.currentTimeMillis, (now) => Duration.millis(Math.max(0, start + Duration.toMillis(timeout) - now)))
  )
