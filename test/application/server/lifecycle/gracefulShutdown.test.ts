import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { shutDownGracefully } from "../../../../src/application/server/lifecycle/gracefulShutdown.ts"
import { ServerSettings } from "../../../../src/application/server/Limits.ts"
import { InFlightCall } from "../../../../src/application/server/connections/InFlightCall.ts"
import {
  agent,
  agentIn,
  assertDenied,
  assertRejected,
  bodiesOf,
  computerIn,
  join
} from "../../../conformance/joinedMembers.ts"
import { buildWorld, type Peer } from "../../../conformance/World.ts"
import { makeLink, makeParts, recordLogs } from "../parts.ts"

/** A Server that a test can close while its members stay connected. */
const closable = Effect.fnUntraced(function* (drainTimeout: Duration.Duration) {
  const scope = yield* Scope.make()
  const world = yield* Scope.provide(buildWorld("memory", { drainTimeout }), scope)
  return { world, close: Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true }) }
})

/** An office with a call in flight until `answer`. */
const callUnderWay = Effect.fnUntraced(function* (drainTimeout: Duration.Duration) {
  const { close, world } = yield* closable(drainTimeout)
  const a1 = yield* agentIn(world, "O1")
  const c1 = yield* computerIn(world, "O1")
  const gate = yield* Deferred.make<void>()
  yield* c1.answers(() => Effect.as(Deferred.await(gate), [{ tools: [], req_id: "r" }]))
  const call = yield* Effect.forkChild(calling(a1, "1"), { startImmediately: true })
  yield* Effect.repeat(Effect.yieldNow, { until: () => bodiesOf(c1, "client:get_tools").length === 1 })
  return { a1, c1, call, close, world, answer: Deferred.succeed(gate, undefined) }
})

const calling = (peer: Peer, reqId: string) =>
  peer.request("client:get_tools", { agent: "agent-1", req_id: reqId, computer: "pc-1" })

describe("a graceful shutdown", () => {
  it.effect("waits for calls in flight, and rejects new calls and joins", () =>
    Effect.gen(function* () {
      const { a1, answer, c1, call, close, world } = yield* callUnderWay(Duration.seconds(10))
      const newcomer = yield* agent(world)
      const closing = yield* close
      assert.isTrue(world.server.draining())
      assert.include(assertDenied(yield* join(newcomer, "agent", "agent-2", "O2")), "shutting down")
      assertRejected(yield* calling(a1, "2"), 503)
      yield* TestClock.adjust("5 seconds")
      assert.isUndefined(closing.pollUnsafe())
      yield* answer
      assert.deepStrictEqual(yield* Fiber.join(call), [{ tools: [], req_id: "r" }])
      yield* TestClock.adjust("20 millis")
      yield* Fiber.join(closing)
      for (const peer of [a1, c1, newcomer]) yield* peer.closed
      assert.deepStrictEqual(world.server.load(), { connections: 0, sessions: 0, offices: 0, calls: 0 })
    })
  )

  it.effect("aborts calls after the drain timeout with a warning", () =>
    Effect.gen(function* () {
      const { a1, call, close, world } = yield* callUnderWay(Duration.seconds(10))
      const closing = yield* close
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
      yield* a1.closed
      assert.isTrue(Exit.isFailure(yield* Fiber.await(call)))
      assert.isTrue(world.logs.some(({ level, text }) => level === "Warn" && text.includes("drain timeout exceeded")))
    })
  )

  it.effect("aborts calls at once without a drain timeout", () =>
    Effect.gen(function* () {
      const { call, close } = yield* callUnderWay(Duration.zero)
      yield* Fiber.join(yield* close)
      assert.isTrue(Exit.isFailure(yield* Fiber.await(call)))
    })
  )
})

/** A Server with one connection, whose load at the link to other nodes the test sets. Its shutdown, and the log of it. */
const startParts = Effect.fnUntraced(function* (drainTimeout: Duration.Duration) {
  const load = { inboundRequests: 0, queuedBytes: 0 }
  const settings = { ...ServerSettings.defaultValue(), drainTimeout }
  const parts = yield* makeParts({ settings }, ({ nodeLink }) => ({
    nodeLink: { ...nodeLink, load: () => ({ ...nodeLink.load(), ...load }) }
  }))
  const one = makeLink("a")
  const connection = yield* parts.open(one.link)
  const { entries, layer } = recordLogs()
  const shutDown = parts.provide(shutDownGracefully(parts.connections, parts.inFlightCalls)).pipe(Effect.provide(layer))
  const begin = Effect.forkChild(shutDown, { startImmediately: true })
  return { ...parts, ...one, begin, connection, entries, load }
})

describe("the drain of a Server", () => {
  it.effect("waits for messages to other nodes and to clients", () =>
    Effect.gen(function* () {
      const { begin, closed, connections, link, load, setBacklog } = yield* startParts(Duration.seconds(10))
      load.queuedBytes = 1
      yield* begin
      yield* TestClock.adjust("1 second")
      setBacklog(1)
      connections.onBacklogChange(link)
      load.queuedBytes = 0
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(closed, [])
      setBacklog(0)
      yield* TestClock.adjust("20 millis")
      assert.deepStrictEqual(closed, ["the Server is shutting down"])
    })
  )

  it.effect("waits for the calls of its members and those of other nodes, and logs how many remain", () =>
    Effect.gen(function* () {
      const { begin, closed, connection, entries, inFlightCalls, load } = yield* startParts(Duration.seconds(10))
      load.inboundRequests = 1
      inFlightCalls.add(connection, "far", new InFlightCall("O", () => undefined), 0)
      yield* begin
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(closed, [])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(closed.length, 1)
      assert.deepStrictEqual(entries, [
        ["Info", "graceful shutdown started", { connections: 1, calls: 2, seconds: 10 }],
        ["Warn", "graceful shutdown: drain timeout exceeded", { calls: 2, seconds: 10 }],
        ["Info", "graceful shutdown: closing connections", { connections: 1 }]
      ])
    })
  )

  it.effect("warns of no call that ends without a drain timeout", () =>
    Effect.gen(function* () {
      const { begin, closed, connection, entries, inFlightCalls } = yield* startParts(Duration.zero)
      inFlightCalls.add(connection, "far", new InFlightCall("O", () => undefined), 0)
      yield* begin
      yield* TestClock.adjust("1 second")
      assert.strictEqual(closed.length, 1)
      assert.isFalse(entries.some(([level]) => level === "Warn"))
    })
  )

  it.effect("completes at once without connections", () =>
    Effect.gen(function* () {
      const settings = { ...ServerSettings.defaultValue(), drainTimeout: Duration.seconds(10) }
      const { connections, inFlightCalls, provide } = yield* makeParts({ settings })
      const shutDown = provide(shutDownGracefully(connections, inFlightCalls))
      const closing = yield* Effect.forkChild(shutDown, { startImmediately: true })
      assert.isDefined(closing.pollUnsafe())
    })
  )

  it.effect("closes the connections at once without calls in flight, and logs that", () =>
    Effect.gen(function* () {
      const { begin, closed, entries } = yield* startParts(Duration.seconds(10))
      yield* begin
      yield* TestClock.adjust("20 millis")
      assert.deepStrictEqual(closed, ["the Server is shutting down"])
      assert.deepStrictEqual(entries[1], ["Info", "graceful shutdown: no calls in flight"])
    })
  )

  it.effect("logs its steps for debugging only without a drain timeout", () =>
    Effect.gen(function* () {
      const { begin, entries } = yield* startParts(Duration.zero)
      yield* Fiber.join(yield* begin)
      assert.deepStrictEqual(
        entries.map(([level]) => level),
        ["Debug", "Debug", "Debug"]
      )
    })
  )
})
