import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import { makeRefresher } from "../../../src/application/shared/Refresher.ts"
import { settle } from "../../settle.ts"
import { effectWith } from "../../testWith.ts"

/** A refresher, and how often it has started and completed the refreshes of each key, each behind its latch. */
const makeWorld = Effect.fnUntraced(function* (minInterval?: Duration.Duration) {
  const refresher = yield* makeRefresher(minInterval)
  const counts = { started: new Map<string, number>(), completed: new Map<string, number>() }
  const add = (which: keyof typeof counts, key: string) => counts[which].set(key, (counts[which].get(key) ?? 0) + 1)
  const latches = new Map<string, Latch.Latch>()
  const latchOf = (key: string) =>
    latches.get(key) ?? (latches.set(key, Latch.makeUnsafe(false)).get(key) as Latch.Latch)
  const refresh = (key: string) =>
    refresher.refresh(
      key,
      Effect.sync(() => void add("started", key)).pipe(
        Effect.andThen(latchOf(key).await),
        Effect.andThen(Effect.sync(() => void add("completed", key)))
      )
    )
  /** Lets the refresh of a key that runs now complete. */
  const complete = (key: string) => Effect.andThen(latchOf(key).release, settle)
  const seen = (key: string) => [counts.started.get(key) ?? 0, counts.completed.get(key) ?? 0]
  return { ...refresher, refresh, complete, open: (key: string) => latchOf(key).open, seen }
})

const test = effectWith(makeWorld())

describe("a refresh", () => {
  test("runs once more for all requests that come while it runs", function* ({
    complete,
    isRefreshing,
    refresh,
    seen
  }) {
    yield* refresh("a")
    yield* settle
    yield* refresh("a")
    yield* refresh("a")
    yield* settle
    assert.deepStrictEqual([seen("a"), isRefreshing("a")], [[1, 0], true])
    yield* complete("a")
    assert.deepStrictEqual([seen("a"), isRefreshing("a")], [[2, 1], true])
    yield* complete("a")
    assert.deepStrictEqual([seen("a"), isRefreshing("a")], [[2, 2], false])
    yield* refresh("a")
    yield* settle
    assert.deepStrictEqual(seen("a"), [3, 2])
  })

  test("runs beside those of other keys", function* ({ complete, isRefreshing, refresh, seen }) {
    yield* refresh("a")
    yield* refresh("b")
    yield* settle
    yield* complete("b")
    assert.deepStrictEqual([seen("a"), seen("b"), isRefreshing("a"), isRefreshing("b")], [[1, 0], [1, 1], true, false])
  })

  it.effect("follows the one before after the interval", () =>
    Effect.gen(function* () {
      const { open, refresh, seen } = yield* makeWorld(Duration.seconds(2))
      yield* open("a")
      yield* refresh("a")
      yield* settle
      yield* TestClock.adjust("1 second")
      yield* refresh("a")
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(seen("a"), [1, 1])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(seen("a"), [2, 2])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(seen("a"), [2, 2])
    })
  )

  it.effect("follows also one that ends with a defect", () =>
    Effect.gen(function* () {
      const { refresh } = yield* makeRefresher()
      const gate = yield* Latch.make(false)
      let count = 0
      const failing = Effect.andThen(
        Effect.sync(() => void count++),
        Effect.andThen(gate.await, Effect.die("broken"))
      )
      yield* refresh("a", failing)
      yield* settle
      yield* refresh("a", failing)
      yield* gate.open
      yield* settle
      assert.strictEqual(count, 2)
    })
  )
})

describe("the wait for refreshes", () => {
  test("is for those of the wanted keys, and their repetition", function* ({
    awaitIdle,
    awaitKeys,
    complete,
    refresh
  }) {
    const start = (wait: Effect.Effect<void>) => Effect.forkChild(wait, { startImmediately: true })
    assert.isDefined((yield* start(awaitKeys(() => true))).pollUnsafe())
    yield* refresh("a")
    yield* refresh("b")
    yield* settle
    yield* refresh("a")
    const [ofA, ofNone, all] = [
      yield* start(awaitKeys((key) => key === "a")),
      yield* start(awaitKeys((key) => key === "c")),
      yield* start(awaitIdle)
    ]
    const waiting = () => [ofA, ofNone, all].map((fiber) => fiber.pollUnsafe() === undefined)
    yield* complete("a")
    assert.deepStrictEqual(waiting(), [true, false, true])
    yield* complete("a")
    assert.deepStrictEqual(waiting(), [false, false, true])
    yield* complete("b")
    yield* Fiber.join(all)
  })

  test("is also for a refresh that starts meanwhile", function* ({ awaitKeys, complete, refresh }) {
    yield* refresh("tools a")
    yield* settle
    const waiting = yield* Effect.forkChild(
      awaitKeys((key) => key.startsWith("tools")),
      { startImmediately: true }
    )
    yield* refresh("tools b")
    yield* settle
    yield* complete("tools a")
    assert.isUndefined(waiting.pollUnsafe())
    yield* complete("tools b")
    yield* Fiber.join(waiting)
  })
})
