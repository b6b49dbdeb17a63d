import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, type Scope } from "effect"
import type { Limits } from "../../../../src/application/server/connections/Limits.ts"
import { noMetrics, type ServerMetrics } from "../../../../src/application/server/observability/ServerMetrics.ts"
import { agentIn, bodiesOf, computerIn, settled } from "../../../conformance/cast.ts"
import { buildWorld, type Peer, type World } from "../../../conformance/World.ts"

/** A world in which a test stops and resumes the reading of members. */
interface SlowWorld extends World {
  readonly stop: (peer: Peer) => void
  readonly goOn: (peer: Peer) => void
  /** Dropped notifications. */
  readonly saved: () => number
}

const slow = (
  title: string,
  limits: Partial<Limits>,
  body: (world: SlowWorld) => Effect.Effect<void, unknown, Scope.Scope>
) =>
  it.effect(title, () =>
    Effect.gen(function* () {
      const latches = new Map<string, Latch.Latch>()
      let saved = 0
      const metrics: ServerMetrics["Service"] = {
        ...noMetrics,
        dropped: (kind) => {
          if (kind === "notification") saved += 1
        }
      }
      const world = yield* buildWorld("memory", {
        limits,
        tally: metrics,
        reading: (sid) => latches.get(sid)?.await ?? Effect.void
      })
      yield* body({
        ...world,
        saved: () => saved,
        stop: (peer) => void latches.set(peer.sid(), Latch.makeUnsafe(false)),
        goOn: (peer) => void latches.get(peer.sid())?.openUnsafe()
      })
    })
  )

const updates = (peer: Peer, count: number) =>
  Effect.forEach(Array.from({ length: count }), () => peer.tell("server:update_desktop", { computer: "pc-1" }), {
    discard: true
  })

const eventsOf = (peer: Peer, from: number) =>
  peer
    .heard()
    .slice(from)
    .map(({ body, event }) => [event, (body as { computer: string }).computer])

const calling = (peer: Peer, reqId: string) =>
  peer.ask("client:get_tools", { agent: "agent-1", req_id: reqId, computer: "pc-1" })

const closedLines = ({ logs }: World) => logs.filter(({ text }) => text.includes("connection closed"))

/** An update has 19 bytes in these tests: eleven are sent at once, and the rest is deferred. */
const little = { notificationBacklogBytes: 190, backlogBytes: 100_000 }

describe("a member that reads too slowly", () => {
  slow("gets repeated changes once, and reverted ones not at all", little, (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      yield* a1.hear("notify:enter_office")
      const before = a1.heard().length
      world.stop(a1)
      yield* updates(c1, 20)
      const c2 = yield* computerIn(world, "O1", "pc-2")
      yield* c2.tell("server:update_config", { computer: "pc-2" })
      const c3 = yield* computerIn(world, "O1", "pc-3")
      yield* settled([c1, c2, c3])
      yield* c3.close
      yield* c2.ask("server:leave_office", { office_id: "O1" })
      yield* c2.ask("server:join_office", { role: "computer", name: "pc-2", office_id: "O1" })
      assert.strictEqual(a1.heard().length, before)
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
  )

  slow("catches up with the next notification when it reads again", little, (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      yield* a1.hear("notify:enter_office")
      world.stop(a1)
      yield* updates(c1, 15)
      yield* settled([c1])
      world.goOn(a1)
      yield* settled([a1])
      const before = a1.heard().length
      yield* c1.tell("server:update_config", { computer: "pc-1" })
      yield* settled([c1], [a1])
      assert.deepStrictEqual(eventsOf(a1, before), [
        ["notify:update_desktop", "pc-1"],
        ["notify:update_config", "pc-1"]
      ])
    })
  )

  slow("gets all notifications of an office before it leaves", little, (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      yield* a1.hear("notify:enter_office")
      world.stop(a1)
      yield* updates(c1, 15)
      yield* settled([c1])
      const leaving = yield* Effect.forkChild(a1.ask("server:leave_office", { office_id: "O1" }), {
        startImmediately: true
      })
      yield* Effect.repeat(Effect.yieldNow, { times: 10 })
      world.goOn(a1)
      assert.deepStrictEqual(yield* Fiber.join(leaving), [true, null])
      const before = a1.heard().length
      assert.strictEqual(bodiesOf(a1, "notify:update_desktop").length, 12)
      yield* world.elapse("5 seconds")
      yield* settled([a1])
      assert.strictEqual(a1.heard().length, before)
    })
  )

  slow("gets every reply", little, (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      yield* c1.answers(() => Effect.succeed([{ text: "x".repeat(10_000) }]))
      world.stop(a1)
      const calls = yield* Effect.forEach(["1", "2", "3"], (id) => Effect.forkChild(calling(a1, id)))
      yield* Effect.repeat(Effect.yieldNow, { times: 50 })
      world.goOn(a1)
      for (const call of calls) {
        const [answer] = yield* Fiber.join(call)
        assert.strictEqual((answer as { text: string }).text.length, 10_000)
      }
    })
  )

  slow(
    "begins no calls while its backlog is above half of the limit",
    { backlogBytes: 18_000, notificationBacklogBytes: 100 },
    (world) =>
      Effect.gen(function* () {
        const a1 = yield* agentIn(world, "O1")
        const c1 = yield* computerIn(world, "O1")
        yield* c1.answers(() => Effect.succeed([{ text: "x".repeat(10_000) }]))
        world.stop(a1)
        const first = yield* Effect.forkChild(calling(a1, "1"))
        yield* Effect.repeat(Effect.yieldNow, { times: 50 })
        const second = yield* Effect.forkChild(calling(a1, "2"))
        yield* Effect.repeat(Effect.yieldNow, { times: 50 })
        world.goOn(a1)
        yield* Fiber.join(first)
        const [refused] = yield* Fiber.join(second)
        assert.deepInclude(refused, {
          code: 429,
          limit: "backlog_bytes",
          max: 18_000,
          retry_after: 1
        })
        const [answer] = yield* calling(a1, "3")
        assert.property(answer, "text")
      })
  )

  slow(
    "is closed when its backlog exceeds the limit, without effect on others",
    { backlogBytes: 25_000, notificationBacklogBytes: 100 },
    (world) =>
      Effect.gen(function* () {
        const a1 = yield* agentIn(world, "O1")
        const c1 = yield* computerIn(world, "O1")
        yield* c1.answers(() => Effect.succeed([{ text: "x".repeat(10_000) }]))
        world.stop(a1)
        yield* Effect.forEach(["1", "2", "3", "4"], (id) => Effect.forkChild(Effect.exit(calling(a1, id))))
        yield* a1.closed
        assert.include(closedLines(world)[0]?.text, "send_backlog_exceeded")
        assert.deepStrictEqual(yield* c1.hear("notify:leave_office"), { office_id: "O1", agent: "agent-1" })
        yield* settled([c1])
      })
  )

  slow(
    "is closed by the next scan when it sends nothing",
    { backlogBytes: 25_000, notificationBacklogBytes: 100 },
    (world) =>
      Effect.gen(function* () {
        const a1 = yield* agentIn(world, "O1")
        const c1 = yield* computerIn(world, "O1")
        yield* c1.answers(() => Effect.succeed([{ text: "x".repeat(10_000) }]))
        world.stop(a1)
        yield* Effect.forEach(["1", "2", "3"], (id) => Effect.forkChild(Effect.exit(calling(a1, id))))
        yield* Effect.repeat(Effect.yieldNow, { times: 50 })
        assert.deepStrictEqual(closedLines(world), [])
        yield* world.elapse("1 second")
        yield* a1.closed
      })
  )

  slow(
    "is closed when it has too many deferred notifications",
    { ...little, messagesPerSecond: Number.POSITIVE_INFINITY },
    (world) =>
      Effect.gen(function* () {
        const a1 = yield* agentIn(world, "O1")
        const c1 = yield* computerIn(world, "O1")
        const c2 = yield* computerIn(world, "O1", "pc-2")
        world.stop(c1)
        for (let id = 0; id < 8250; id++) {
          yield* a1.tell("server:tool_call_cancel", { agent: "agent-1", req_id: String(id) })
          if (id % 1000 === 0) yield* settled([a1])
        }
        yield* c1.closed
        // The other member defers some of so many notifications, too, and gets the rest later.
        yield* world.elapse("1 second")
        yield* settled([c2])
        assert.strictEqual(bodiesOf(c2, "notify:tool_call_cancel").length, 8250)
        assert.include(closedLines(world)[0]?.text, "8192 notifications")
      })
  )
})
