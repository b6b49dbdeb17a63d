import { Duration, Effect, FiberSet, type Scope } from "effect"

/** Runs refreshes by key: at most one in progress and one pending for each. */
export interface Refresher {
  /** Requests a refresh. A request during a refresh of the same key runs one more afterwards. */
  readonly refresh: (key: string, effect: Effect.Effect<void>) => Effect.Effect<void>
  /** Waits until no refresh is in progress. */
  readonly awaitIdle: Effect.Effect<void>
}

/** Makes a refresher that keeps `minInterval` between the refreshes of one key. */
export const makeRefresher = Effect.fnUntraced(function* (
  minInterval: Duration.Duration = Duration.zero
): Effect.fn.Return<Refresher, never, Scope.Scope> {
  const fibers = yield* FiberSet.make<void>()
  const states = new Map<string, "running" | "pending">()

  const refreshLoop = Effect.fnUntraced(
    function* (key: string, effect: Effect.Effect<void>) {
      while (true) {
        states.set(key, "running")
        yield* Effect.catchDefect(effect, (defect) => Effect.logError("refresh failed", { key }, defect))
        if (!Duration.isZero(minInterval)) yield* Effect.sleep(minInterval)
        if (states.get(key) !== "pending") return
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
          states.set(key, "pending")
          return Effect.void
        }
        states.set(key, "running")
        return Effect.asVoid(FiberSet.run(fibers, refreshLoop(key, effect)))
      }),
    awaitIdle: FiberSet.awaitEmpty(fibers)
  }
})
