import { Duration, Effect, FiberSet, type Scope } from "effect"

/** Keeps things fresh: each key has at most one refresh under way and one waiting, however often it is asked for. */
export interface Refresher {
  /** Asks for a refresh. Asked again under way, it runs once more afterwards. */
  readonly refresh: (key: string, effect: Effect.Effect<void>) => Effect.Effect<void>
  /** Waits until nothing is under way. */
  readonly awaitIdle: Effect.Effect<void>
}

/** Refreshes of one key are at least `pause` apart, however fast the questions come. */
export const makeRefresher = Effect.fnUntraced(function* (
  minInterval: Duration.Duration = Duration.zero
): Effect.fn.Return<Refresher, never, Scope.Scope> {
  const fibers = yield* FiberSet.make<void>()
  const states = new Map<string, "running" | "again">()

  const refreshLoop = Effect.fnUntraced(
    function* (key: string, effect: Effect.Effect<void>) {
      while (true) {
        states.set(key, "running")
        yield* Effect.catchDefect(effect, (defect) => Effect.logError("refresh failed", { key }, defect))
        if (!Duration.isZero(minInterval)) yield* Effect.sleep(minInterval)
        if (states.get(key) !== "again") return
      }
    },
    (loop, key) =>
      Effect.ensuring(
        loop,
        Effect.sync(() => states.delete(key))
      )
  )

  return {
    refresh: (key, effect) =>
      Effect.suspend(() => {
        if (states.has(key)) {
          states.set(key, "again")
          return Effect.void
        }
        states.set(key, "running")
        return Effect.asVoid(FiberSet.run(fibers, refreshLoop(key, effect)))
      }),
    awaitIdle: FiberSet.awaitEmpty(fibers)
  }
})
