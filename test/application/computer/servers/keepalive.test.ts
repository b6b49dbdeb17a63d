import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import {
  type CallActivity,
  trackCall,
  untilUnresponsive
} from "../../../../src/application/computer/servers/runSession.ts"
import { McpSessionError } from "../../../../src/application/ports/McpSession.ts"

const makeActivity = (): CallActivity => ({ running: new Set(), lastResponseAt: 0 })
const failure = (reason: McpSessionError["reason"]) => new McpSessionError({ reason, message: `failed: ${reason}` })

/** Pings every 30 seconds, and collects the reports of health. */
const watched = Effect.fnUntraced(function* (ping: Effect.Effect<void, McpSessionError>, activity = makeActivity()) {
  const reports: Array<string | undefined> = []
  const watching = yield* Effect.forkChild(
    untilUnresponsive(ping, activity, Duration.seconds(30), (reason) => Effect.sync(() => void reports.push(reason))),
    { startImmediately: true }
  )
  return { reports, ended: () => watching.pollUnsafe() !== undefined, reason: Fiber.join(watching) }
})

describe("trackCall", () => {
  it.effect.each([
    ["a result", Effect.void, 1000],
    ["an error of the protocol", Effect.fail(failure("protocol")), 1000],
    ["a closed session", Effect.fail(failure("closed")), 0],
    ["an unavailable server", Effect.fail(failure("unavailable")), 0]
  ] as ReadonlyArray<readonly [string, Effect.Effect<void, McpSessionError>, number]>)(
    "records the time of the last response after %s",
    ([, outcome, expected]) =>
      Effect.gen(function* () {
        const activity = makeActivity()
        yield* TestClock.adjust("1 second")
        yield* Effect.exit(trackCall(activity, outcome))
        assert.strictEqual(activity.lastResponseAt, expected)
      })
  )
})

describe("untilUnresponsive", () => {
  it.effect("resolves after three missed pings: after 40 seconds and two more of 15 seconds", () =>
    Effect.gen(function* () {
      const { ended, reason, reports } = yield* watched(Effect.never)
      yield* TestClock.adjust("39 seconds")
      assert.lengthOf(reports, 0)
      yield* TestClock.adjust("1 second")
      assert.lengthOf(reports, 1)
      yield* TestClock.adjust("29 seconds")
      assert.isFalse(ended())
      yield* TestClock.adjust("1 second")
      assert.isTrue(ended())
      const { message, reason: code } = yield* reason
      assert.deepStrictEqual([code, reports], ["unavailable", [message, message, message]])
    })
  )

  it.effect("reports the message of a ping that fails", () =>
    Effect.gen(function* () {
      const { reason, reports } = yield* watched(Effect.fail(failure("closed")))
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual((yield* reason).message, "failed: closed")
      assert.deepStrictEqual(reports, ["failed: closed", "failed: closed", "failed: closed"])
    })
  )

  it.effect.each(["protocol", "unsupported"] as const)("takes an error with the reason %s for a response", (reason) =>
    Effect.gen(function* () {
      const { ended, reports } = yield* watched(Effect.fail(failure(reason)))
      yield* TestClock.adjust("2 minutes")
      assert.isFalse(ended())
      assert.deepStrictEqual(reports, [undefined, undefined, undefined, undefined])
    })
  )

  it.effect("counts missed pings again after a response", () =>
    Effect.gen(function* () {
      let pings = 0
      const ping = Effect.suspend(() => (++pings === 3 ? Effect.void : Effect.fail(failure("closed"))))
      const { ended, reports } = yield* watched(ping)
      yield* TestClock.adjust("40 seconds")
      assert.deepStrictEqual(reports, ["failed: closed", "failed: closed", undefined])
      yield* TestClock.adjust("39 seconds")
      assert.strictEqual(pings, 5)
      assert.isFalse(ended())
      yield* TestClock.adjust("1 second")
      assert.isTrue(ended())
    })
  )

  it.effect.each([11, 14, 16, 20])("keeps a server that answers each ping after %i seconds", (seconds) =>
    Effect.gen(function* () {
      const { ended, reports } = yield* watched(Effect.sleep(`${seconds} seconds`))
      yield* TestClock.adjust("10 minutes")
      assert.isFalse(ended())
      assert.include(reports, undefined)
    })
  )

  it.effect("interrupts pings that are not answered until the end of the next one", () =>
    Effect.gen(function* () {
      let open = 0
      let most = 0
      const ping = Effect.acquireUseRelease(
        Effect.sync(() => (most = Math.max(most, ++open))),
        () => Effect.never,
        () => Effect.sync(() => void (open -= 1))
      )
      const { reason } = yield* watched(ping)
      yield* TestClock.adjust("2 minutes")
      yield* reason
      assert.deepStrictEqual([most, open], [2, 0])
    })
  )

  it.effect("takes a response to a call during a ping for a response", () =>
    Effect.gen(function* () {
      const activity = makeActivity()
      const { reports } = yield* watched(Effect.never, activity)
      yield* TestClock.adjust("30 seconds")
      yield* trackCall(activity, Effect.void)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(reports, [undefined])
    })
  )

  it.effect("ignores a response to a call before the ping", () =>
    Effect.gen(function* () {
      const activity = makeActivity()
      const { reports } = yield* watched(Effect.never, activity)
      yield* TestClock.adjust("29 seconds")
      yield* trackCall(activity, Effect.void)
      yield* TestClock.adjust("11 seconds")
      assert.isDefined(reports[0])
    })
  )

  const callAt = Effect.fnUntraced(function* (activity: CallActivity, start: number) {
    yield* TestClock.adjust(start - (yield* Clock.currentTimeMillis))
    return yield* Effect.forkChild(trackCall(activity, Effect.never), { startImmediately: true })
  })

  it.effect.each([10_000, 30_000])("tolerates missed pings while a call runs that started after %i ms", (start) =>
    Effect.gen(function* () {
      const activity = makeActivity()
      const { ended } = yield* watched(Effect.never, activity)
      const call = yield* callAt(activity, start)
      yield* callAt(activity, 45_000)
      yield* TestClock.adjust("10 minutes")
      assert.isFalse(ended())
      yield* Fiber.interrupt(call)
      yield* TestClock.adjust("15 seconds")
      assert.isTrue(ended())
    })
  )

  it.effect("ignores calls that started after the first missed ping", () =>
    Effect.gen(function* () {
      const activity = makeActivity()
      const { ended } = yield* watched(Effect.never, activity)
      yield* callAt(activity, 30_001)
      yield* TestClock.adjust("40 seconds")
      assert.isTrue(ended())
    })
  )
})
