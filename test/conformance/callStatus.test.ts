import { assert, describe } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Queue } from "effect"
import { makeMemoryMcpServer } from "../../src/adapters/memory/MemoryMcp.ts"
import type { CallStatus } from "../../src/domain/model/CallStatus.ts"
import { bodiesOf, computerIn, settled, statusAgentIn } from "./joinedMembers.ts"
import { agentUnderTest, computerUnderTest, textResult, tool } from "./members.ts"
import { conform } from "./World.ts"

const update = "server:update_tool_call"
const notification = "notify:update_tool_call"
const call = { agent: "agent-1", req_id: "r1", computer: "pc-1", tool_name: "t", params: {}, timeout: 60 }
const status = { computer: "pc-1", req_id: "r1", status: "waiting_for_consent" }

/** The statuses of a call, in order. */
const queue = Effect.map(Queue.unbounded<CallStatus>(), (statuses) => ({
  statuses,
  onStatus: (status: CallStatus) => Effect.asVoid(Queue.offer(statuses, status))
}))

const fork = <A, E>(call: Effect.Effect<A, E>) => Effect.forkChild(call, { startImmediately: true })

describe("status of a call", () => {
  conform("reaches the Agent of the call unchanged, from the Computer that runs it, until its end", (world) =>
    Effect.gen(function* () {
      const a1 = yield* statusAgentIn(world, "O1")
      const c1 = yield* computerIn(world, "O1")
      const c2 = yield* computerIn(world, "O1", "pc-2")
      const sameName = yield* computerIn(world, "O2")
      const [started, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      yield* c1.answers(() =>
        Deferred.succeed(started, undefined).pipe(
          Effect.andThen(Deferred.await(go)),
          Effect.as([{ ...textResult("done"), isError: false }])
        )
      )
      yield* c1.notify(update, status)
      const calling = yield* fork(a1.request("client:tool_call", call))
      yield* Deferred.await(started)
      yield* c2.notify(update, { ...status, computer: "pc-2" })
      yield* c2.notify(update, status)
      yield* sameName.notify(update, status)
      yield* a1.notify(update, status)
      yield* c1.notify(update, { ...status, req_id: "r2" })
      yield* c1.notify(update, { ...status, servers: ["x".repeat(40_000)] })
      for (const malformed of [null, "text", [], { ...status, computer: 5 }]) yield* c1.notify(update, malformed)
      const later = { ...status, status: "a later kind", more: { deep: [1, null, "ü"] } }
      yield* c1.notify(update, later)
      yield* settled([a1, c1, c2, sameName], [a1, c2])
      assert.deepStrictEqual(bodiesOf(a1, notification), [later])
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(calling)
      yield* c1.notify(update, status)
      yield* settled([c1], [a1, c2])
      assert.deepStrictEqual(bodiesOf(a1, notification), [later])
      assert.deepStrictEqual([...bodiesOf(c2, notification), ...bodiesOf(c1, notification)], [])
    })
  )

  conform("says that the call waits for consent, but not when consent needs no time", (world) =>
    Effect.gen(function* () {
      const requests = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const done = yield* Deferred.make<void>()
      const slowTool = tool("slow", () => Effect.as(Deferred.await(done), textResult("slow")))
      yield* computerUnderTest(world, {
        servers: { alpha: { tools: [tool("quick"), slowTool] } },
        configure: { alpha: { default_tool_meta: null } },
        settings: {
          confirm: (request) =>
            request.tool === "quick"
              ? Effect.succeed(true)
              : Deferred.succeed(requests, undefined).pipe(Effect.andThen(Deferred.await(go)), Effect.as(true))
        }
      })
      const agent = yield* agentUnderTest(world)
      const { onStatus, statuses } = yield* queue
      const calling = (name: string) => agent.callTool({ computer: "pc-1", tool: name, onStatus })
      yield* calling("quick")
      const slow = yield* fork(calling("slow"))
      yield* Deferred.await(requests)
      yield* world.elapse("1 second")
      const waiting = yield* Queue.take(statuses)
      assert.strictEqual(waiting._tag === "WaitingForConsent" && waiting.approval?.tool, "slow")
      yield* Deferred.succeed(go, undefined)
      const decided: CallStatus = { _tag: "Decided", computer: "pc-1", isAllowed: true, by: "program" }
      assert.deepStrictEqual(yield* Queue.take(statuses), decided)
      yield* Deferred.succeed(done, undefined)
      assert.isFalse((yield* Fiber.join(slow)).isError)
      assert.strictEqual(yield* Queue.size(statuses), 0)
    })
  )

  conform("has the progress of the tool, twice a second at most, with a message of limited length", (world) =>
    Effect.gen(function* () {
      const message = "m".repeat(300)
      const step = yield* Queue.unbounded<number>()
      const done = yield* Deferred.make<void>()
      const steps = tool("steps", (_params, { progress }) =>
        Effect.forEach(
          [1, 2, 3],
          (count) => Effect.andThen(Queue.take(step), progress({ progress: count, total: 3, message })),
          { discard: true }
        ).pipe(Effect.andThen(Deferred.await(done)), Effect.as(textResult("steps")))
      )
      yield* computerUnderTest(world, { servers: { alpha: { tools: [steps] } } })
      const agent = yield* agentUnderTest(world)
      const { onStatus, statuses } = yield* queue
      const calling = yield* fork(agent.callTool({ computer: "pc-1", tool: "steps", onStatus }))
      const progressing = (progress: number) => {
        return { _tag: "Progressing", computer: "pc-1", progress, total: 3, message: "m".repeat(256) }
      }
      yield* Queue.offerAll(step, [1, 2])
      assert.deepStrictEqual<unknown>(yield* Queue.take(statuses), progressing(1))
      yield* world.transport === "memory" ? world.elapse("1 second") : Effect.sleep("1 second")
      yield* Queue.offer(step, 3)
      assert.deepStrictEqual<unknown>(yield* Queue.take(statuses), progressing(3))
      yield* Deferred.succeed(done, undefined)
      assert.isFalse((yield* Fiber.join(calling)).isError)
    })
  )

  conform("does not end a call whose handler of statuses fails", (world) =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      yield* computerUnderTest(world, {
        servers: { alpha: { tools: [tool("t")] } },
        configure: { alpha: { default_tool_meta: null } },
        settings: { confirm: () => Effect.as(Deferred.await(go), true) }
      })
      const agent = yield* agentUnderTest(world)
      const onStatus = () => Effect.andThen(Deferred.succeed(go, undefined), Effect.die(new Error("handler")))
      const calling = yield* fork(agent.callTool({ computer: "pc-1", tool: "t", onStatus }))
      while (!Deferred.isDoneUnsafe(go)) yield* Effect.andThen(world.elapse("1 second"), Effect.yieldNow)
      assert.isFalse((yield* Fiber.join(calling)).isError)
      assert.include(world.logs.map(({ text }) => text).join(), "call status handler failed")
    })
  )
})

describe("call of a tool whose server starts", () => {
  const waiting: CallStatus = { _tag: "WaitingForServers", computer: "pc-1", servers: ["alpha"] }

  /** A server that starts when `go` is done. */
  const starting = Effect.fnUntraced(function* (name: string) {
    const go = yield* Deferred.make<void>()
    const server = yield* makeMemoryMcpServer({ tools: [tool(name)] })
    return { go, server: { ...server, connect: Effect.andThen(Deferred.await(go), server.connect) } }
  })

  conform("waits at the Computer that it names", (world) =>
    Effect.gen(function* () {
      const { go, server: alpha } = yield* starting("t")
      yield* computerUnderTest(world, { servers: { alpha }, settings: { startupTimeout: Duration.zero } })
      const agent = yield* agentUnderTest(world)
      const { onStatus, statuses } = yield* queue
      const calling = yield* fork(agent.callTool({ computer: "pc-1", tool: "t", onStatus }))
      while ((yield* Queue.size(statuses)) === 0) yield* Effect.andThen(world.elapse("1 second"), Effect.yieldNow)
      assert.deepStrictEqual(yield* Queue.takeAll(statuses), [waiting])
      yield* Deferred.succeed(go, undefined)
      assert.deepStrictEqual<unknown>((yield* Fiber.join(calling)).content, textResult("t")["content"])
    })
  )

  conform("waits for its Computer without naming it", (world) =>
    Effect.gen(function* () {
      const { go, server: alpha } = yield* starting("t")
      yield* computerUnderTest(world, { servers: { alpha }, settings: { startupTimeout: Duration.zero } })
      yield* computerUnderTest(world, { name: "pc-2", servers: { beta: { tools: [tool("u")] } } })
      const agent = yield* agentUnderTest(world)
      const { onStatus, statuses } = yield* queue
      const calling = yield* fork(agent.callTool({ tool: "t", onStatus }))
      assert.deepStrictEqual(yield* Queue.take(statuses), waiting)
      yield* Deferred.succeed(go, undefined)
      assert.deepStrictEqual<unknown>((yield* Fiber.join(calling)).content, textResult("t")["content"])
    })
  )

  conform("fails without naming a Computer when no server starts any more", (world) =>
    Effect.gen(function* () {
      const { go, server: alpha } = yield* starting("t")
      yield* computerUnderTest(world, { servers: { alpha }, settings: { startupTimeout: Duration.zero } })
      const agent = yield* agentUnderTest(world)
      const hasWaited = yield* Deferred.make<void>()
      const onStatus = () => Effect.asVoid(Deferred.succeed(hasWaited, undefined))
      const calling = yield* fork(Effect.flip(agent.callTool({ tool: "u", onStatus })))
      yield* Deferred.await(hasWaited)
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual((yield* Fiber.join(calling)).message, 'No Computer of this office has a tool "u"')
    })
  )
})
