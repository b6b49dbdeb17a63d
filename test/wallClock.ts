import { Clock, Effect } from "effect"

/**
 * Runs with a clock of which the test changes the wall time by milliseconds. Sleeps go on as before, like the timers of a
 * system whose time is set.
 */
export const withWallClock = <A, E, R>(body: (change: (millis: number) => void) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    let offset = 0
    const currentTimeMillisUnsafe = () => clock.currentTimeMillisUnsafe() + offset
    const changed = Object.assign(Object.create(clock) as Clock.Clock, {
      currentTimeMillisUnsafe,
      currentTimeMillis: Effect.sync(currentTimeMillisUnsafe)
    })
    const change = (millis: number) => void (offset += millis)
    return yield* Effect.provideService(body(change), Clock.Clock, changed)
  })
