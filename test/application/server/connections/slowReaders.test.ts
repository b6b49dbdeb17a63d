import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Schema, type Scope, Semaphore } from "effect"
import type { Limits } from "../../../../src/application/server/Limits.ts"
import { agentIn, bodiesOf, computerIn, settled } from "../../../conformance/joinedMembers.ts"
import { buildWorld, type Peer, type World } from "../../../conformance/World.ts"
import { recordGauges } from "../../../recordGauges.ts"
import { settle } from "../../../settle.ts"
import { recordMetrics } from "../parts.ts"
import { effectWith } from "../../../testWith.ts"

/** A world in which a test stops and resumes the reading of members. */
interface SlowWorld extends World {
  readonly stop: (peer: Peer) => void
  readonly goOn: (peer: Peer) => void
  /** Lets a member read one message a second from now on. */
  readonly slowDown: (peer: Peer) => void
  /** Dropped notifications. */
  readonly saved: () => number
  /** The value of a gauge. */
  readonly gauge: (name: string) => number
}

const slowWorld = Effect.fnUntraced(function* (
  limits: Partial<Limits>
): Effect.fn.Return<SlowWorld, never, Scope.Scope> {
  const latches = new Map<string, Latch.Latch>()
  const paces = new Map<string, Effect.Effect<void>>()
  const gauges = recordGauges()
  const { dropped, metrics } = recordMetrics()
  const world = yield* buildWorld("memory", {
    limits,
    tally: { ...metrics, gauge: gauges.metrics.gauge },
    reading: (sid) => paces.get(sid) ?? latches.get(sid)?.await ?? Effect.void
  })
  return {
    ...world,
    saved: () => dropped.filter((kind) => kind === "notification").length,
    gauge: gauges.read,
    slowDown: (peer) => void paces.set(peer.sid(), Semaphore.makeUnsafe(1).withPermit(Effect.sleep("1 second"))),
    stop: (peer) => void latches.set(peer.sid(), Latch.makeUnsafe(false)),
    goOn: (peer) => {
      paces.delete(peer.sid())
      latches.get(peer.sid())?.openUnsafe()
    }
  }
})

/** Runs a test in an office with an Agent and a Computer of a Server with these limits. */
const slow = (
  title: string,
  limits: Partial<Limits>,
  body: (office: {
    readonly world: SlowWorld
    readonly a1: Peer
    readonly c1: Peer
  }) => Effect.fn.Return<void, unknown, Scope.Scope>
) =>
  effectWith(
    Effect.gen(function* () {
      const world = yield* slowWorld(limits)
      return { world, a1: yield* agentIn(world, "O1"), c1: yield* computerIn(world, "O1") }
    })
  )(title, body)

const updates = (peer: Peer, count: number) =>
  Effect.forEach(Array.from({ length: count }), () => peer.notify("server:update_desktop", { computer: "pc-1" }), {
    discard: true
  })

const eventsOf = (peer: Peer, from: number) =>
  peer
    .received()
    .slice(from)
    .map(({ body, event }) => [event, (body as { computer: string }).computer])

const calling = (peer: Peer, reqId: string) =>
  peer.request("client:get_tools", { agent: "agent-1", req_id: reqId, computer: "pc-1" })

/** Lets a Computer reply to each call with a text of this length. */
const answersBytes = (peer: Peer, length: number) => peer.answers(() => Effect.succeed([{ text: "x".repeat(length) }]))

const closedLines = ({ logs }: World) => logs.filter(({ text }) => text.includes("connection closed"))

/** An update has 19 bytes in these tests: eleven are sent at once, and the rest is deferred. */
const little = { notificationBacklogBytes: 190, backlogBytes: 100_000 }

describe("a member that reads too slowly", () => {
  slow("gets repeated changes once, and reverted ones not at all", little, function* ({ a1, c1, world }) {
    yield* a1.receive("notify:enter_office")
    const before = a1.received().length
    world.stop(a1)
    yield* updates(c1, 20)
    const c2 = yield* computerIn(world, "O1", "pc-2")
    yield* c2.notify("server:update_config", { computer: "pc-2" })
    const c3 = yield* computerIn(world, "O1", "pc-3")
    yield* settled([c1, c2, c3])
    yield* c3.close
    yield* c2.request("server:leave_office", { office_id: "O1" })
    yield* c2.request("server:join_office", { role: "computer", name: "pc-2", office_id: "O1" })
    assert.strictEqual(a1.received().length, before)
    world.goOn(a1)
    yield* world.elapse("1 second")
    yield* settled([a1])
    assert.deepStrictEqual(eventsOf(a1, before), [
      ...Array.from({ length: 11 }, () => ["notify:update_desktop", "pc-1"]),
      ["notify:update_desktop", "pc-1"],
      ["notify:enter_office", "pc-2"]
    ])
    // 8 updates, the update of pc-2, the join and leave of pc-3, and those of pc-2 before its last join.
    assert.strictEqual(world.saved(), 8 + 1 + 2 + 2)
    assert.deepStrictEqual(closedLines(world), [])
  })

  slow("catches up with the next notification when it reads again", little, function* ({ a1, c1, world }) {
    yield* a1.receive("notify:enter_office")
    world.stop(a1)
    yield* updates(c1, 15)
    yield* settled([c1])
    world.goOn(a1)
    yield* settled([a1])
    const before = a1.received().length
    yield* c1.notify("server:update_config", { computer: "pc-1" })
    yield* settled([c1], [a1])
    assert.deepStrictEqual(eventsOf(a1, before), [
      ["notify:update_desktop", "pc-1"],
      ["notify:update_config", "pc-1"]
    ])
  })

  slow("gets the departure of an Agent before the call of a later one of its name", little, function* (office) {
    const { a1, c1, world } = office
    const c2 = yield* computerIn(world, "O1", "pc-2")
    world.stop(c1)
    for (let count = 0; count < 20; count++) yield* c2.notify("server:update_desktop", { computer: "pc-2" })
    yield* settled([c2])
    yield* a1.close
    const later = yield* agentIn(world, "O1")
    yield* Effect.forkScoped(Effect.exit(calling(later, "r")), { startImmediately: true })
    world.goOn(c1)
    yield* c1.receive("client:get_tools")
    const events = c1.received().map(({ event }) => event)
    assert.isAbove(events.indexOf("notify:leave_office"), 0)
    assert.isAbove(events.indexOf("client:get_tools"), events.indexOf("notify:leave_office"))
  })

  slow("gets all notifications of an office before it leaves", little, function* ({ a1, c1, world }) {
    yield* a1.receive("notify:enter_office")
    world.stop(a1)
    yield* updates(c1, 15)
    yield* settled([c1])
    const leaving = yield* Effect.forkChild(a1.request("server:leave_office", { office_id: "O1" }), {
      startImmediately: true
    })
    yield* settle
    world.goOn(a1)
    assert.deepStrictEqual(yield* Fiber.join(leaving), [true, null])
    const before = a1.received().length
    assert.strictEqual(bodiesOf(a1, "notify:update_desktop").length, 12)
    yield* world.elapse("5 seconds")
    yield* settled([a1])
    assert.strictEqual(a1.received().length, before)
  })

  slow("gets every reply", little, function* ({ a1, c1, world }) {
    yield* answersBytes(c1, 10_000)
    world.stop(a1)
    const calls = yield* Effect.forEach(["1", "2", "3"], (id) => Effect.forkChild(calling(a1, id)))
    yield* settle
    world.goOn(a1)
    for (const call of calls) {
      const [answer] = yield* Fiber.join(call)
      assert.strictEqual((answer as { text: string }).text.length, 10_000)
    }
  })

  slow(
    "begins no calls while its backlog is above half of the limit",
    { backlogBytes: 18_000, notificationBacklogBytes: 100 },
    function* ({ a1, c1, world }) {
      yield* answersBytes(c1, 10_000)
      world.stop(a1)
      const first = yield* Effect.forkChild(calling(a1, "1"))
      yield* settle
      const second = yield* Effect.forkChild(calling(a1, "2"))
      yield* settle
      world.goOn(a1)
      yield* Fiber.join(first)
      const [refused] = yield* Fiber.join(second)
      assert.deepInclude(refused, { code: 429, limit: "backlog_bytes", max: 18_000, retry_after: 1 })
      const [answer] = yield* calling(a1, "3")
      assert.property(answer, "text")
    }
  )

  slow(
    "is closed when its backlog exceeds the limit, without effect on others",
    { backlogBytes: 25_000, notificationBacklogBytes: 100 },
    function* ({ a1, c1, world }) {
      yield* answersBytes(c1, 10_000)
      world.stop(a1)
      yield* Effect.forEach(["1", "2", "3", "4"], (id) => Effect.forkChild(Effect.exit(calling(a1, id))))
      yield* a1.closed
      assert.include(closedLines(world)[0]?.text, "send_backlog_exceeded")
      assert.deepStrictEqual(yield* c1.receive("notify:leave_office"), { office_id: "O1", agent: "agent-1" })
      yield* settled([c1])
    }
  )

  slow(
    "is closed when its backlog exceeds the limit, though it sends nothing",
    { backlogBytes: 25_000, notificationBacklogBytes: 100 },
    function* ({ a1, c1, world }) {
      yield* answersBytes(c1, 10_000)
      world.stop(a1)
      yield* Effect.forEach(["1", "2", "3"], (id) => Effect.forkChild(Effect.exit(calling(a1, id))))
      yield* settle
      yield* a1.closed
    }
  )

  slow(
    "is closed when it has too many deferred notifications",
    { ...little, messagesPerSecond: Number.POSITIVE_INFINITY },
    function* ({ a1, c1, world }) {
      const c2 = yield* computerIn(world, "O1", "pc-2")
      world.stop(c1)
      for (let id = 0; id < 8250; id++) {
        yield* a1.notify("server:tool_call_cancel", { agent: "agent-1", req_id: String(id) })
        if (id % 1000 === 0) yield* settled([a1])
      }
      yield* c1.closed
      // The other member also defers some of so many notifications, and gets the rest later.
      yield* world.elapse("1 second")
      yield* settled([c2])
      assert.strictEqual(bodiesOf(c2, "notify:tool_call_cancel").length, 8250)
      assert.include(closedLines(world)[0]?.text, "8192 notifications")
    }
  )
})

/** An Agent that makes calls, and the Computer that replies to each with ten thousand bytes. */
const callingAgent = Effect.fnUntraced(function* (world: SlowWorld, office: string) {
  const agent = yield* agentIn(world, office)
  const computer = yield* computerIn(world, office)
  yield* answersBytes(computer, 10_000)
  return {
    agent,
    computer,
    /** Makes calls at once. Each one ends with its reply. */
    call: (count: number) =>
      Effect.forEach(Array.from({ length: count }), (_, id) => Effect.forkChild(calling(agent, String(id))), {
        discard: true
      })
  }
})

const offices = ["O1", "O2", "O3"] as const

/** What happens to one of the callers. */
const Step = Schema.Struct({
  action: Schema.Literals(["call", "stop", "goOn", "slowDown", "leave"]),
  office: Schema.Literals(offices),
  replies: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 }))
})

describe("the total of all backlogs", () => {
  const limits = { totalBacklogBytes: 100_000, notificationBacklogBytes: 1_000_000, backlogBytes: 1_000_000 }

  /** Three callers: the first reads nothing, the second one reply a second, the third everything. */
  const callers = Effect.gen(function* () {
    const world = yield* slowWorld(limits)
    const silent = yield* callingAgent(world, "O1")
    const slowly = yield* callingAgent(world, "O2")
    const third = yield* callingAgent(world, "O3")
    world.stop(silent.agent)
    world.slowDown(slowly.agent)
    return { world, silent, slowly, third }
  })

  const amongCallers = effectWith(callers)

  amongCallers(
    "closes a member that reads nothing before one that reads a larger answer slowly",
    function* ({ silent, slowly, third, world }) {
      yield* silent.call(2)
      yield* slowly.call(7)
      yield* settle
      yield* world.elapse("3 seconds")
      assert.deepStrictEqual(closedLines(world), [])
      world.stop(third.agent)
      yield* third.call(5)
      yield* settle
      yield* silent.agent.closed
      const [line] = closedLines(world)
      assert.include(line?.text, "total_backlog_exceeded")
      assert.include(line?.text, silent.agent.sid())
      assert.deepStrictEqual(yield* silent.computer.receive("notify:leave_office"), {
        office_id: "O1",
        agent: "agent-1"
      })
      yield* world.elapse("10 seconds")
      assert.isFalse(closedLines(world).some(({ text }) => text.includes(slowly.agent.sid())))
      yield* settled([slowly.computer])
    }
  )

  amongCallers("closes the member that needs the longest for its backlog", function* ({ slowly, world }) {
    const trickling = yield* callingAgent(world, "O4")
    world.slowDown(trickling.agent)
    yield* answersBytes(trickling.computer, 100)
    yield* trickling.call(10)
    yield* settle
    yield* answersBytes(trickling.computer, 40_000)
    yield* trickling.call(1)
    yield* slowly.call(5)
    yield* settle
    yield* world.elapse("3 seconds")
    assert.deepStrictEqual(closedLines(world), [])
    yield* slowly.call(6)
    yield* settle
    yield* trickling.agent.closed
    assert.strictEqual(closedLines(world).length, 1)
  })

  amongCallers(
    "closes the largest of the members that read nothing, and no more than necessary",
    function* ({ silent, third, world }) {
      const large = yield* callingAgent(world, "O4")
      world.stop(large.agent)
      yield* silent.call(3)
      yield* large.call(4)
      yield* settle
      yield* world.elapse("3 seconds")
      world.stop(third.agent)
      yield* third.call(4)
      yield* settle
      yield* large.agent.closed
      assert.strictEqual(closedLines(world).length, 1)
      assert.isAtMost(world.gauge("backlog_bytes"), 100_000)
    }
  )

  slow(
    "counts deferred notifications",
    { ...little, totalBacklogBytes: 50_000, messagesPerSecond: Number.POSITIVE_INFINITY },
    function* ({ a1, c1, world }) {
      const c2 = yield* computerIn(world, "O1", "pc-2")
      world.stop(c1)
      for (let id = 0; id < 300; id++) {
        yield* a1.notify("server:tool_call_cancel", { agent: "agent-1", req_id: String(id) })
        if (id % 10 === 0) yield* settled([a1, c2])
      }
      yield* c1.closed
      assert.include(closedLines(world)[0]?.text, "total_backlog_exceeded")
      yield* settled([c2])
    }
  )

  it.effect.prop(
    "never exceeds the limit for long, and is zero when all members have left",
    [Schema.Array(Step)],
    ([steps]) =>
      Effect.gen(function* () {
        const world = yield* slowWorld(limits)
        const callers = yield* Effect.forEach(offices, (office) => callingAgent(world, office))
        for (const { action, office, replies } of steps) {
          const caller = callers[offices.indexOf(office)]
          if (caller === undefined) continue
          if (action === "call") yield* caller.call(replies)
          else if (action === "leave") yield* caller.agent.close
          else world[action](caller.agent)
          yield* settle
          assert.isAtMost(world.gauge("backlog_bytes"), limits.totalBacklogBytes)
          yield* world.elapse("400 millis")
        }
        for (const { agent, computer } of callers) yield* Effect.andThen(agent.close, computer.close)
        yield* settle
        assert.deepStrictEqual(
          ["backlog_bytes", "request_bytes", "calls_in_flight", "connections"].map(world.gauge),
          [0, 0, 0, 0]
        )
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 50 } }
  )
})
