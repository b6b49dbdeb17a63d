import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { startIdleReaper } from "../../../../src/application/server/lifecycle/idleReaper.ts"
import type { Limits } from "../../../../src/application/server/Limits.ts"
import { InFlightCall } from "../../../../src/application/server/connections/InFlightCall.ts"
import { unlimitedCapacity } from "../../../../src/domain/office/decideMembership.ts"
import { makeLink, makeParts, recordLogs, recordMetrics } from "../parts.ts"

/** The parts of a Server whose connections are scanned, and the connection of one link in no office. */
const start = Effect.fnUntraced(function* (limits: Partial<Limits>) {
  const { exceeded, metrics } = recordMetrics()
  const parts = yield* makeParts({ limits, metrics })
  yield* parts.provide(startIdleReaper(parts.connections, parts.notifications))
  const one = makeLink("a")
  return { ...parts, ...one, exceeded, connection: yield* parts.open(one.link) }
})

const joinTimeout = { joinTimeout: Duration.seconds(10) }
const idleTimeout = { idleTimeout: Duration.seconds(10), joinTimeout: Duration.infinity }

describe("the scan of all connections", () => {
  it.effect.each([
    ["outside of offices after the join timeout", joinTimeout, "joinTimeout"],
    ["without messages after the idle timeout", idleTimeout, "idleTimeout"]
  ] as const)("closes a connection %s", ([, limits, limit]) =>
    Effect.gen(function* () {
      const { closed, exceeded } = yield* start(limits)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(closed, [])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(closed.length, 1)
      assert.deepStrictEqual(exceeded, [limit])
    })
  )

  it.effect("keeps members beyond the join timeout", () =>
    Effect.gen(function* () {
      const { closed, registry } = yield* start(joinTimeout)
      const membership = { office: "O", role: "computer", name: "pc" } as const
      yield* registry.apply({ _tag: "Join", sid: "a", ...membership }, unlimitedCapacity)
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(closed, [])
    })
  )

  it.effect("keeps the connection of an Agent whose Computer is being looked up", () =>
    Effect.gen(function* () {
      const { closed, connection } = yield* start(idleTimeout)
      connection.lookups = 1
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(closed, [])
      connection.lookups = 0
      yield* TestClock.adjust("12 seconds")
      assert.strictEqual(closed.length, 1)
    })
  )

  it.effect("keeps the connections of both members of a call, also of one from another node", () =>
    Effect.gen(function* () {
      const { closed, connection } = yield* start(idleTimeout)
      for (const calls of [connection.calls, connection.inboundCalls]) {
        const call = new InFlightCall("O", (_exit, _isReplied, ended) => void calls.delete(ended))
        calls.add(call)
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(closed, [])
        call.cancel()
      }
      yield* TestClock.adjust("12 seconds")
      assert.strictEqual(closed.length, 1)
    })
  )

  it.effect("closes a connection whose backlog has grown without a message", () =>
    Effect.gen(function* () {
      const { closed, exceeded, setBacklog } = yield* start({ backlogBytes: 100 })
      setBacklog(101)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(closed.length, 1)
      assert.deepStrictEqual(exceeded, ["backlogBytes"])
    })
  )

  it.effect("sends deferred notifications once the backlog is at the limit", () =>
    Effect.gen(function* () {
      const { notifications, sent, setBacklog } = yield* start({ notificationBacklogBytes: 100 })
      setBacklog(101)
      notifications.notify(["a"], { _tag: "Updated", part: "desktop", computer: "pc" })
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(sent, [])
      setBacklog(100)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(sent.length, 1)
    })
  )

  it.effect("sends nothing to a connection that is being closed", () =>
    Effect.gen(function* () {
      const { connection, notifications, sent, setBacklog } = yield* start({ notificationBacklogBytes: 100 })
      setBacklog(101)
      notifications.notify(["a"], { _tag: "Updated", part: "desktop", computer: "pc" })
      connection.closing = true
      setBacklog(0)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(sent, [])
    })
  )

  it.effect("continues after a failure", () => {
    const { entries, layer } = recordLogs()
    return Effect.gen(function* () {
      const { closed, open } = yield* start(joinTimeout)
      let failures = 0
      const faulty = makeLink("b", {
        backlog: () => {
          if (failures++ === 0) throw new Error("no socket")
          return 0
        }
      })
      yield* open(faulty.link)
      yield* TestClock.adjust("11 seconds")
      assert.deepStrictEqual([closed.length, faulty.closed.length], [1, 1])
      assert.strictEqual(yield* Clock.currentTimeMillis, 11_000)
      assert.deepStrictEqual(
        entries.filter(([level]) => level === "Error").map(([, message]) => message),
        ["idle check failed"]
      )
    }).pipe(Effect.provide(layer))
  })
})
