import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { silentReporter, startCall } from "../../../../src/application/computer/calls/Call.ts"
import { officeCaller } from "../../../../src/domain/approvals/Caller.ts"

const seconds = Effect.map(Duration.toSeconds)

/** A call that runs. */
const start = (timeout: Duration.Duration) =>
  Effect.tap(
    startCall(
      { caller: officeCaller("ada", 1, true), params: {}, reporter: silentReporter, reqId: "r", toolName: "t" },
      { approvalTimeout: Duration.minutes(5), timeout }
    ),
    (call) => Effect.sync(() => call.dispatch({ _tag: "Started" }))
  )

describe("time of a call", () => {
  it.effect("ends an effect when its time is over", () =>
    Effect.gen(function* () {
      const call = yield* start(Duration.seconds(10))
      const running = yield* Effect.forkChild(call.bound(Effect.never))
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isNone(yield* Fiber.join(running)))
      assert.strictEqual(yield* seconds(call.remaining), 0)
    })
  )

  it.effect("does not count the time while it is paused, also several times", () =>
    Effect.gen(function* () {
      const call = yield* start(Duration.seconds(10))
      const running = yield* Effect.forkChild(call.bound(Effect.never))
      for (const left of [8, 6]) {
        yield* TestClock.adjust("2 seconds")
        call.awaitApproval("AnswerAwaited")
        call.dispatch({ _tag: "Extended" })
        yield* TestClock.adjust("1 hour")
        assert.isUndefined(running.pollUnsafe())
        assert.strictEqual(yield* seconds(call.remaining), left)
        call.dispatch({ _tag: "Answered" })
        assert.strictEqual(yield* seconds(call.remaining), left)
      }
      yield* TestClock.adjust("5 seconds")
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isNone(yield* Fiber.join(running)))
    })
  )

  it.effect("ends when less time is left than a clock counts", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let sleeps = 0
      const counting = Object.assign(Object.create(clock) as Clock.Clock, {
        sleep: (duration: Duration.Duration) =>
          Effect.andThen(
            Effect.sync(() => sleeps++),
            clock.sleep(duration)
          )
      })
      const call = yield* start(Duration.millis(0.3))
      const bound = Effect.provideService(call.bound(Effect.never), Clock.Clock, counting)
      const running = yield* Effect.forkChild(bound)
      yield* TestClock.adjust(Duration.millis(0.1))
      call.awaitApproval("AnswerAwaited")
      call.dispatch({ _tag: "Extended" })
      yield* TestClock.adjust(Duration.millis(0.6))
      call.dispatch({ _tag: "Answered" })
      // 0.2 ms later, 1e-16 ms are left.
      yield* TestClock.adjust(Duration.millis(1))
      assert.isTrue(Option.isNone(yield* Fiber.join(running)))
      assert.isAtMost(sleeps, 3)
    })
  )

  it.effect("pauses from a past time on", () =>
    Effect.gen(function* () {
      const call = yield* start(Duration.seconds(10))
      call.awaitApproval("AnswerAwaited")
      yield* TestClock.adjust("3 seconds")
      call.dispatch({ _tag: "Extended" })
      call.dispatch({ _tag: "Answered" })
      assert.strictEqual(yield* seconds(call.remaining), 10)
    })
  )
})
