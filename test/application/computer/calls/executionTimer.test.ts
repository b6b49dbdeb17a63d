import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { startExecutionTimer } from "../../../../src/application/computer/calls/executionTimer.ts"

const seconds = Effect.map(Duration.toSeconds)

describe("startExecutionTimer", () => {
  it.effect("ends an effect when its time is over", () =>
    Effect.gen(function* () {
      const timer = yield* startExecutionTimer(Duration.seconds(10))
      const running = yield* Effect.forkChild(timer.bound(Effect.never))
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isNone(yield* Fiber.join(running)))
      assert.strictEqual(yield* seconds(timer.remaining), 0)
    })
  )

  it.effect("does not count the time while it is paused, also several times", () =>
    Effect.gen(function* () {
      const timer = yield* startExecutionTimer(Duration.seconds(10))
      const running = yield* Effect.forkChild(timer.bound(Effect.never))
      for (const left of [8, 6]) {
        yield* TestClock.adjust("2 seconds")
        timer.pause(yield* Clock.currentTimeMillis)
        yield* TestClock.adjust("1 hour")
        assert.isUndefined(running.pollUnsafe())
        assert.strictEqual(yield* seconds(timer.remaining), left)
        yield* timer.resume
        assert.strictEqual(yield* seconds(timer.remaining), left)
      }
      yield* TestClock.adjust("5 seconds")
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isNone(yield* Fiber.join(running)))
    })
  )

  it.effect("pauses from a past time on", () =>
    Effect.gen(function* () {
      const timer = yield* startExecutionTimer(Duration.seconds(10))
      const since = yield* Clock.currentTimeMillis
      yield* TestClock.adjust("3 seconds")
      timer.pause(since)
      yield* timer.resume
      assert.strictEqual(yield* seconds(timer.remaining), 10)
    })
  )
})
