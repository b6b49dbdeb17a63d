import { Clock, Duration, Effect, Latch, Option } from "effect"

/** The execution time of a call. It stops while the call waits for answers to questions. */
export interface ExecutionTimer {
  /** The time that is left, never a negative one. */
  readonly remaining: Effect.Effect<Duration.Duration>
  /** Runs an effect until it ends or the time is over, which gives none. */
  readonly bound: <A, E, R>(running: Effect.Effect<A, E, R>) => Effect.Effect<Option.Option<A>, E, R>
  /** Stops the time, from a past time in milliseconds on. */
  readonly pause: (since: number) => void
  /** Continues a stopped time. */
  readonly resume: Effect.Effect<void>
}

export const startExecutionTimer = (time: Duration.Duration): Effect.Effect<ExecutionTimer> =>
  Effect.map(Clock.clockWith(Effect.succeed), (clock) => {
    const now = () => clock.currentTimeMillisUnsafe()
    const running = Latch.makeUnsafe(true)
    let deadline = now() + Duration.toMillis(time)
    let pausedAt: number | undefined

    const remaining = Effect.sync(() => Duration.millis(Math.max(0, deadline - (pausedAt ?? now()))))
    const expired: Effect.Effect<void> = Effect.gen(function* () {
      while (true) {
        yield* running.await
        const left = deadline - now()
        if (left <= 0) return
        yield* Effect.sleep(Duration.millis(left))
      }
    })
    return {
      remaining,
      bound: (effect) => Effect.raceFirst(Effect.asSome(effect), Effect.as(expired, Option.none())),
      pause: (since) => {
        pausedAt = since
        running.closeUnsafe()
      },
      resume: Effect.sync(() => {
        if (pausedAt === undefined) return
        deadline += now() - pausedAt
        pausedAt = undefined
        running.openUnsafe()
      })
    }
  })
