import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, type Scope } from "effect"
import { Limits } from "../../../src/application/server/Limits.ts"
import {
  agent,
  agentIn,
  assertDenied,
  assertRejected,
  bodiesOf,
  computer,
  computerIn,
  join,
  settled
} from "../../conformance/joinedMembers.ts"
import {
  buildWorld,
  type Conditions,
  conform,
  conformInMemory,
  type Peer,
  type World
} from "../../conformance/World.ts"
import { withWallClock } from "../../wallClock.ts"
import { settle } from "../../settle.ts"
import { clusterWith, recordMetrics } from "./parts.ts"

const calling = (peer: Peer, reqId: string, computerName = "pc-1", more: object = {}) =>
  peer.request("client:get_tools", { agent: "agent-1", req_id: reqId, computer: computerName, ...more })

/** Replies to calls when the returned effect runs. */
const answersLater = (peer: Peer) => {
  const gate = Deferred.makeUnsafe<void>()
  return Effect.as(
    peer.answers(() => Effect.as(Deferred.await(gate), [{ tools: [], req_id: "r" }])),
    Deferred.succeed(gate, undefined)
  )
}

const answersAtOnce = (peer: Peer) => peer.answers(() => Effect.succeed([{ tools: [], req_id: "r" }]))

/** Waits until the Computer has received `count` calls. */
const reached = (peer: Peer, count: number) =>
  Effect.repeat(
    Effect.andThen(
      Effect.yieldNow,
      Effect.sync(() => bodiesOf(peer, "client:get_tools").length)
    ),
    { until: (calls) => calls >= count }
  )

const warnings = (world: World, text: string) =>
  world.logs.filter((line) => line.level === "Warn" && line.text.includes(text))

interface Office {
  readonly world: World
  readonly a1: Peer
  readonly c1: Peer
}

/** Runs a test on every transport, in an office with an Agent and a Computer of a Server with these limits. */
const limited = (
  title: string,
  limits: Partial<Limits>,
  body: (office: Office) => Effect.fn.Return<void, unknown, Scope.Scope>,
  conditions: Conditions = {}
) =>
  conform(
    title,
    Effect.fnUntraced(function* (world) {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      yield* Effect.fnUntraced(body)({ world, a1, c1 })
    }),
    { ...conditions, limits }
  )

describe("each limit of bytes", () => {
  it("has the documented default", () =>
    assert.deepInclude(Limits.defaultValue(), {
      notificationBacklogBytes: 4_194_304,
      backlogBytes: 67_108_864,
      totalBacklogBytes: 1_073_741_824,
      totalIncompleteBytes: 536_870_912,
      totalRequestBytes: 536_870_912
    }))
})

describe("the message rate limit", () => {
  const few = { messagesPerSecond: 0.01, messageBurst: 3 }
  const expected = { code: 429, limit: "messages_per_second", max: 0.01 }

  limited("rejects messages of one member with the limit and a retry delay", few, function* ({ a1, c1, world }) {
    yield* answersAtOnce(c1)
    for (const id of ["1", "2"]) yield* calling(a1, id)
    const [refused] = yield* calling(a1, "3")
    assert.deepInclude(refused, expected)
    assert.isAbove((refused as { retry_after: number }).retry_after, 90)
    assertDenied(yield* join(a1, "agent", "agent-1", "O1"))
    yield* settled([c1])
    yield* world.elapse("100 seconds")
  })

  limited(
    "accepts messages again after the retry delay",
    { messagesPerSecond: 0.25, messageBurst: 2 },
    function* ({ a1, c1, world }) {
      yield* answersAtOnce(c1)
      yield* calling(a1, "1")
      const [refused] = yield* calling(a1, "2")
      const { retry_after: wait } = refused as { retry_after: number }
      assert.isTrue(wait > 0 && wait <= 4)
      yield* world.transport === "memory" ? world.elapse("4 seconds") : Effect.sleep("4010 millis")
      assert.deepStrictEqual(yield* calling(a1, "3"), [{ tools: [], req_id: "r" }])
    }
  )

  limited(
    "charges messages to a large office as several",
    { messagesPerSecond: 0.01, messageBurst: 10 },
    function* ({ a1, c1, world }) {
      for (let more = 2; more <= 40; more++) yield* computerIn(world, "O1", `pc-${more}`)
      for (let sent = 0; sent < 9; sent++) yield* c1.notify("server:update_desktop", { computer: "pc-1" })
      yield* settled([c1])
      yield* a1.receive("notify:update_desktop")
      yield* settled([a1])
      assert.isAtMost(bodiesOf(a1, "notify:update_desktop").length, 3)
    }
  )

  const notified = recordMetrics()
  limited(
    "drops and counts messages without a reply",
    few,
    function* ({ a1, c1, world }) {
      for (let sent = 0; sent < 4; sent++) yield* c1.notify("server:update_desktop", { computer: "pc-1" })
      yield* settled([c1])
      for (const _ of [1, 2]) yield* a1.receive("notify:update_desktop")
      assert.strictEqual(bodiesOf(a1, "notify:update_desktop").length, 2)
      assert.isAtLeast(notified.dropped.filter((kind) => kind === "message").length, 2)
      assert.strictEqual(warnings(world, "rate limit exceeded").length, 1)
    },
    { tally: notified.metrics }
  )

  conform(
    "never counts replies",
    (world) =>
      Effect.gen(function* () {
        const c1 = yield* computerIn(world, "O1")
        yield* answersAtOnce(c1)
        const a1 = yield* agentIn(world, "O1")
        for (const id of ["1", "2"]) yield* calling(a1, id)
        yield* a1.close
        const a2 = yield* agentIn(world, "O1", "agent-2")
        for (const id of ["3", "4"]) yield* calling(a2, id)
        assert.deepStrictEqual(yield* c1.request("server:leave_office", { office_id: "O1" }), [true, null])
      }),
    { limits: few }
  )

  limited("closes the connection of a flood, without effect on others", few, function* ({ a1, c1, world }) {
    yield* Effect.forEach(Array.from({ length: 12 }), () => a1.notify("client:get_tools", {}))
    yield* a1.closed
    assert.deepStrictEqual(yield* c1.receive("notify:leave_office"), { office_id: "O1", agent: "agent-1" })
    const [line] = warnings(world, "connection closed")
    assert.include(line?.text, "rate_limit_flood")
    yield* settled([c1])
  })
})

describe("the limit of calls in flight", () => {
  limited("applies to one Agent, until a call has ended", { callsPerAgent: 2 }, function* ({ a1, c1, world }) {
    const c2 = yield* computerIn(world, "O1", "pc-2")
    const answer = yield* answersLater(c1)
    yield* answersAtOnce(c2)
    const waiting = yield* Effect.forkChild(calling(a1, "1"))
    const other = yield* Effect.forkChild(calling(a1, "2"))
    yield* reached(c1, 2)
    const [refused] = yield* calling(a1, "3", "pc-2")
    assert.deepInclude(refused, { code: 429, limit: "calls_per_agent", max: 2 })
    const a2 = yield* agentIn(world, "O2")
    yield* computerIn(world, "O2")
    assert.deepStrictEqual(yield* calling(a2, "1", "pc-9"), [
      { code: 404, message: "Computer 'pc-9' not found in the office", details: { computer_name: "pc-9" } }
    ])
    yield* answer
    yield* Fiber.join(waiting)
    yield* Fiber.join(other)
    assert.deepStrictEqual(yield* calling(a1, "4", "pc-2"), [{ tools: [], req_id: "r" }])
  })

  limited("applies to one Computer, and not to another", { callsPerComputer: 1 }, function* ({ a1, c1, world }) {
    const c2 = yield* computerIn(world, "O1", "pc-2")
    const answer = yield* answersLater(c1)
    yield* answersAtOnce(c2)
    const waiting = yield* Effect.forkChild(calling(a1, "1"))
    yield* reached(c1, 1)
    const [refused] = yield* calling(a1, "2")
    assert.deepInclude(refused, { code: 429, limit: "calls_per_computer", max: 1 })
    assert.deepStrictEqual(yield* calling(a1, "3", "pc-2"), [{ tools: [], req_id: "r" }])
    yield* answer
    yield* Fiber.join(waiting)
  })

  it.effect("counts lookups of an absent Computer", () =>
    Effect.gen(function* () {
      const requests = yield* Deferred.make<void>()
      const notified = yield* Deferred.make<boolean>()
      const isComputerElsewhere = () => Effect.andThen(Deferred.succeed(requests, undefined), Deferred.await(notified))
      const cluster = clusterWith(() => ({ isComputerElsewhere }))
      const world = yield* buildWorld("memory", { cluster, limits: { callsPerAgent: 1 } })
      const a1 = yield* agentIn(world, "O1")
      const first = yield* Effect.forkChild(calling(a1, "1"))
      yield* Deferred.await(requests)
      const [refused] = yield* calling(a1, "2")
      assert.deepInclude(refused, { code: 429, limit: "calls_per_agent", max: 1 })
      yield* Deferred.succeed(notified, false)
      assert.deepInclude((yield* Fiber.join(first))[0], { code: 404 })
      assert.deepInclude((yield* calling(a1, "3"))[0], { code: 404 })
    })
  )
})

describe("the limit of the memory of requests in progress", () => {
  const limits = { totalRequestBytes: 200_000 }
  const large = (peer: Peer, reqId: string, bytes: number, computerName = "pc-1") =>
    calling(peer, reqId, computerName, { padding: "x".repeat(bytes) })

  limited("leaves as much for the other members as one member holds", limits, function* ({ a1, c1, world }) {
    const answer = yield* answersLater(c1)
    const waiting = yield* Effect.forkChild(large(a1, "1", 40_000))
    yield* reached(c1, 1)
    const [refused] = yield* large(a1, "2", 20_000)
    assert.deepInclude(refused, { code: 429, limit: "total_request_bytes", max: 200_000, retry_after: 1 })
    const a2 = yield* agentIn(world, "O2")
    const c2 = yield* computerIn(world, "O2")
    yield* answersAtOnce(c2)
    assert.deepStrictEqual(yield* large(a2, "1", 40_000), [{ tools: [], req_id: "r" }])
    yield* answer
    yield* Fiber.join(waiting)
    assert.deepStrictEqual(yield* large(a1, "3", 20_000), [{ tools: [], req_id: "r" }])
  })

  limited("is free again after every kind of end", limits, function* ({ a1, c1, world }) {
    yield* c1.answers(() => Effect.never)
    for (const id of ["1", "2", "3"]) assertRejected(yield* large(a1, id, 40_000, "absent"), 404)
    const waiting = yield* Effect.forkChild(large(a1, "4", 40_000))
    yield* reached(c1, 1)
    yield* c1.close
    assertRejected(yield* Fiber.join(waiting), 404)
    const c2 = yield* computerIn(world, "O1")
    yield* c2.answers(() => Effect.never)
    const lost = yield* Effect.forkChild(Effect.exit(large(a1, "5", 40_000)))
    yield* reached(c2, 1)
    yield* a1.close
    yield* c2.receive("notify:leave_office")
    yield* Fiber.interrupt(lost)
    const a2 = yield* agentIn(world, "O1")
    yield* answersAtOnce(c2)
    assert.deepStrictEqual(yield* large(a2, "6", 40_000), [{ tools: [], req_id: "r" }])
  })

  it.effect("includes joins that wait for the registry", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const cluster = clusterWith(({ apply }) => ({
        apply: (...command) => Effect.andThen(Deferred.await(gate), apply(...command))
      }))
      const world = yield* buildWorld("memory", { cluster, limits })
      const a1 = yield* agent(world)
      const place = { role: "agent", name: "agent-1", office_id: "O1" }
      const joining = (padding: number) => a1.request("server:join_office", { ...place, padding: "x".repeat(padding) })
      const first = yield* Effect.forkChild(joining(40_000), { startImmediately: true })
      yield* settle
      assert.include(assertDenied(yield* joining(20_000)), "memory")
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(first), [true, null])
      assert.deepStrictEqual(yield* joining(40_000), [true, null])
    })
  )
})

describe("the length limit", () => {
  const short = { nameLength: 8, officeLength: 4, requestIdLength: 3 }

  conform(
    "applies to names and office ids, which must not contain line breaks",
    (world) =>
      Effect.gen(function* () {
        const c1 = yield* computer(world)
        assert.include(assertDenied(yield* join(c1, "computer", "x".repeat(9), "O1")), "8 characters")
        assert.include(assertDenied(yield* join(c1, "computer", "pc-1", "x".repeat(5))), "4 characters")
        assert.include(assertDenied(yield* join(c1, "computer", "a\nb", "O1")), "control characters")
        assert.include(assertDenied(yield* join(c1, "computer", "pc-1", "\u001b[2J")), "control characters")
        assert.deepStrictEqual(yield* join(c1, "computer", "x".repeat(8), "O1"), [true, null])
      }),
    { limits: short }
  )

  conform(
    "applies to request ids",
    (world) =>
      Effect.gen(function* () {
        const a1 = yield* agentIn(world, "O1", "agent-1")
        const c1 = yield* computerIn(world, "O1")
        yield* answersAtOnce(c1)
        assertRejected(yield* calling(a1, "long"), 400)
        assertRejected(
          yield* a1.request("server:list_room", { agent: "agent-1", req_id: "long", office_id: "O1" }),
          400
        )
        yield* a1.notify("server:tool_call_cancel", { agent: "agent-1", req_id: "long" })
        assert.deepStrictEqual(yield* calling(a1, "abc"), [{ tools: [], req_id: "r" }])
        assert.deepStrictEqual(bodiesOf(c1, "notify:tool_call_cancel"), [])
      }),
    { limits: short }
  )
})

describe("the connection limit", () => {
  conform(
    "rejects a connection until another one closes",
    (world) =>
      Effect.gen(function* () {
        const first = yield* agent(world)
        const second = yield* computer(world)
        const refused = yield* Effect.flip(world.connect({}))
        assert.strictEqual(refused.code, 503)
        assert.include(refused.message, "2 connections")
        yield* settled([second])
        yield* first.close
        yield* Effect.retry(world.connect({}), { while: ({ code }) => code === 503 })
      }),
    { limits: { connections: 2 } }
  )

  conform(
    "closes a connection that joins no office before the join timeout",
    (world) =>
      Effect.gen(function* () {
        const seated = yield* computerIn(world, "O1")
        const outside = yield* agent(world)
        yield* world.elapse("3 seconds")
        yield* outside.closed
        assert.include(warnings(world, "connection closed")[0]?.text, "join_timeout")
        yield* settled([seated])
      }),
    { limits: { joinTimeout: Duration.seconds(2) } }
  )

  conformInMemory(
    "restarts the join timeout after a leave",
    (world) =>
      Effect.gen(function* () {
        const c1 = yield* computerIn(world, "O1")
        yield* world.elapse("50 seconds")
        yield* c1.request("server:leave_office", { office_id: "O1" })
        yield* world.elapse("59 seconds")
        assert.deepStrictEqual(yield* join(c1, "computer", "pc-1", "O2"), [true, null])
        yield* c1.request("server:leave_office", { office_id: "O2" })
        // A rejected leave does not restart the timeout.
        yield* world.elapse("30 seconds")
        yield* settled([c1])
        yield* world.elapse("32 seconds")
        yield* c1.closed
      }),
    { limits: { joinTimeout: Duration.seconds(60) } }
  )

  conformInMemory(
    "closes a connection after the idle timeout, if it is set",
    (world) =>
      Effect.gen(function* () {
        const a1 = yield* agentIn(world, "O1")
        const c1 = yield* computerIn(world, "O1")
        const silent = yield* computerIn(world, "O2")
        const answer = yield* answersLater(c1)
        const waiting = yield* Effect.forkChild(calling(a1, "1"))
        yield* reached(c1, 1)
        yield* world.elapse("40 seconds")
        yield* silent.closed
        assert.include(warnings(world, "connection closed")[0]?.text, "idle_timeout")
        yield* answer
        yield* Fiber.join(waiting)
        // Requests and notifications restart the idle timeout of both sides.
        yield* world.elapse("20 seconds")
        yield* calling(a1, "2")
        yield* world.elapse("20 seconds")
        yield* c1.notify("server:update_desktop", { computer: "pc-1" })
        yield* a1.receive("notify:update_desktop")
        yield* world.elapse("20 seconds")
        yield* settled([a1, c1])
      }),
    {
      limits: { idleTimeout: Duration.seconds(30), joinTimeout: Duration.infinity },
      routingTimeout: Duration.hours(1)
    }
  )

  it.effect("restarts both timeouts when the clock was set back", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const limits = { joinTimeout: Duration.seconds(20), idleTimeout: Duration.seconds(30) }
        const world = yield* buildWorld("memory", { limits })
        const outside = yield* agent(world)
        const idle = yield* computerIn(world, "O1")
        yield* world.elapse("10 seconds")
        change(-Duration.toMillis("1 day"))
        yield* world.elapse("22 seconds")
        yield* outside.closed
        yield* world.elapse("10 seconds")
        yield* idle.closed
        const closed = warnings(world, "connection closed").map(({ text }) => /\w+_timeout/.exec(text)?.[0])
        assert.deepStrictEqual(closed, ["join_timeout", "idle_timeout"])
      })
    )
  )
})
