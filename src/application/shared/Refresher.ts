import { Duration, Effect, Fiber, FiberMap } from "effect"

/** Runs refreshes by key: at most one in progress and one pending, with at least `minInterval` between two. */
export const makeRefresher = Effect.fnUntraced(function* (minInterval: Duration.Duration = Duration.zero) {
  const fibers = yield* FiberMap.make<string, void, never>()
  const pending = new Set<string>()

  const refreshLoop = Effect.fnUntraced(function* (key: string, effect: Effect.Effect<void>) {
    do {
      pending.delete(key)
      yield* Effect.catchDefect(effect, (defect) => Effect.logError("refresh failed", { key }, defect))
      if (!Duration.isZero(minInterval)) yield* Effect.sleep(minInterval)
    } while (pending.has(key))
  })

  const awaitKeys = (isWanted: (key: string) => boolean): Effect.Effect<void> =>
    Effect.suspend(() => {
      const running = [...fibers].filter(([key]) => isWanted(key)).map(([, fiber]) => fiber)
      return running.length === 0 ? Effect.void : Effect.andThen(Fiber.awaitAll(running), awaitKeys(isWanted))
    })

  return {
    /** Requests a refresh. A request during a refresh of the same key runs one more afterwards. */
    refresh: (key: string, effect: Effect.Effect<void>): Effect.Effect<void> =>
      Effect.suspend(() => {
        pending.add(key)
        return Effect.asVoid(FiberMap.run(fibers, key, refreshLoop(key, effect), { onlyIfMissing: true }))
      }),
    isRefreshing: (key: string): boolean => FiberMap.hasUnsafe(fibers, key),
    /** Waits until no refresh of these keys is in progress. */
    awaitKeys,
    /** Waits until no refresh is in progress. */
    awaitIdle: FiberMap.awaitEmpty(fibers)
  }
})
