import { Effect, FiberSet, type Scope } from "effect"

/** Keeps things fresh: each key has at most one refresh under way and one waiting, however often it is asked for. */
export interface Refresher {
  /** Asks for a refresh. Asked again under way, it runs once more afterwards. */
  readonly refresh: (key: string, effect: Effect.Effect<void>) => Effect.Effect<void>
  /** Waits until nothing is under way. */
  readonly settled: Effect.Effect<void>
}

export const makeRefresher: Effect.Effect<Refresher, never, Scope.Scope> = Effect.gen(function* () {
  const fibers = yield* FiberSet.make<void>()
  const states = new Map<string, "running" | "again">()

  const run = Effect.fnUntraced(
    function* (key: string, effect: Effect.Effect<void>) {
      do {
        states.set(key, "running")
        yield* effect
      } while (states.get(key) === "again")
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
        return Effect.asVoid(FiberSet.run(fibers, run(key, effect)))
      }),
    settled: FiberSet.awaitEmpty(fibers)
  }
})
