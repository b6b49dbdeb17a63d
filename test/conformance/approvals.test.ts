import { assert, describe } from "@effect/vitest"
import { Duration, Effect, Fiber, Option, type Scope, Stream } from "effect"
import type { Computer } from "../../src/application/computer/Computer.ts"
import type { ComputerSettings } from "../../src/application/computer/ComputerSettings.ts"
import { errorCodeOf } from "../../src/domain/tools/errorResults.ts"
import { firstText } from "../firstText.ts"
import { agentIn, bodiesOf } from "./joinedMembers.ts"
import { agentUnderTest, computerUnderTest, firstOpen, noneOpen, textResult, tool } from "./members.ts"
import { conform, conformInMemory, type World } from "./World.ts"

/** A Computer with a tool that needs an approval, and records its runs. */
const officeWith = Effect.fnUntraced(function* (world: World, settings: Partial<ComputerSettings>) {
  const ran: Array<unknown> = []
  const write = tool("write", (params) => Effect.sync(() => (ran.push(params), textResult("written"))))
  const computer = yield* computerUnderTest(world, {
    servers: { alpha: { tools: [write] } },
    configure: { alpha: { default_tool_meta: null } },
    settings
  })
  return { computer, ran }
})

const call = { computer: "pc-1", tool: "write", params: { text: "x" } }

/** Waits until a call waits at the Computer, and its status has arrived. */
const nextOpen = Effect.fnUntraced(function* (world: World, computer: Computer["Service"]) {
  const { id } = yield* firstOpen(computer)
  yield* world.transport === "memory" ? world.elapse("1 second") : Effect.sleep("500 millis")
  return id
})

const start = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<Fiber.Fiber<A, E>, never, Scope.Scope> =>
  Effect.forkScoped(effect, { startImmediately: true })

describe("approval of a call", () => {
  conform("is given by the program of its Agent, where the owner allows this", (world) =>
    Effect.gen(function* () {
      const { computer, ran } = yield* officeWith(world, { approvers: ["agent"] })
      const agent = yield* agentUnderTest(world)
      const calling = yield* start(agent.callTool(call))
      yield* nextOpen(world, computer)
      const approval = yield* firstOpen(agent)
      assert.deepInclude(approval, { computer: "pc-1", tool: "write", requester: "agent-1", state: "open" })
      assert.deepStrictEqual<unknown>(JSON.parse(approval.arguments), { text: "x" })
      assert.isEmpty(ran)
      const decided = yield* agent.decideApproval("pc-1", approval.id, { action: "allow", scope: "once" })
      assert.deepInclude(decided, { state: "allowed", decidedBy: "agent agent-1", scope: "once" })
      assert.strictEqual(firstText(yield* Fiber.join(calling)), "written")
      assert.deepStrictEqual(ran, [{ text: "x" }])
      const late = yield* Effect.flip(agent.decideApproval("pc-1", approval.id, { action: "deny" }))
      assert.strictEqual(late._tag === "ProtocolError" && late.code, 409)
    })
  )

  conform("is refused to the program of the Agent by default", (world) =>
    Effect.gen(function* () {
      const { computer } = yield* officeWith(world, { confirm: () => Effect.never })
      const agent = yield* agentUnderTest(world)
      yield* start(agent.callTool(call))
      const id = yield* nextOpen(world, computer)
      const error = yield* Effect.flip(agent.decideApproval("pc-1", id, { action: "allow", scope: "once" }))
      assert.strictEqual(error._tag === "ProtocolError" && error.code, 403)
      const unlisted = yield* Effect.flip(agent.getApprovals("pc-1"))
      assert.strictEqual(unlisted._tag === "ProtocolError" && unlisted.code, 403)
    })
  )

  conformInMemory("does not count as execution time of the call", (world) =>
    Effect.gen(function* () {
      const { computer } = yield* officeWith(world, { approvers: ["page"], approvalTimeout: Duration.minutes(1) })
      const agent = yield* agentUnderTest(world)
      const calling = yield* start(agent.callTool({ ...call, timeout: 1 }))
      const id = yield* nextOpen(world, computer)
      // Longer than the timeouts of the call, of the Agent and of the Server.
      yield* world.elapse("20 seconds")
      assert.isUndefined(calling.pollUnsafe())
      yield* computer.decideApproval(id, { action: "allow", scope: "once" })
      assert.strictEqual(firstText(yield* Fiber.join(calling)), "written")
    })
  )

  conform("is denied with a reason, which the caller sees", (world) =>
    Effect.gen(function* () {
      const { computer, ran } = yield* officeWith(world, { approvers: ["page"] })
      const agent = yield* agentUnderTest(world)
      const calling = yield* start(agent.callTool(call))
      const id = yield* nextOpen(world, computer)
      yield* computer.decideApproval(id, { action: "deny", reason: "not on a Friday" }, "operator:ann")
      const result = yield* Fiber.join(calling)
      assert.strictEqual(errorCodeOf(result), 4005)
      assert.include(firstText(result), "not on a Friday")
      assert.isEmpty(ran)
    })
  )

  conform("expires within the timeout of an Agent of another implementation, which sees no other message", (world) =>
    Effect.gen(function* () {
      const { computer, ran } = yield* officeWith(world, { approvers: ["page"] })
      const plain = yield* agentIn(world, "O1")
      const request = { agent: "agent-1", req_id: "r1", computer: "pc-1", tool_name: "write", params: {}, timeout: 2 }
      const calling = yield* start(plain.request("client:tool_call", request))
      yield* nextOpen(world, computer)
      yield* world.elapse("1 second")
      const [result] = yield* Fiber.join(calling)
      assert.strictEqual((result as { meta?: { error_code?: number } }).meta?.error_code, 4005)
      assert.deepStrictEqual(bodiesOf(plain, "notify:update_tool_call"), [])
      assert.isEmpty(ran)
    })
  )

  conform("is not shown to the program of its Agent after the end of its call", (world) =>
    Effect.gen(function* () {
      const { computer } = yield* officeWith(world, { approvers: ["agent"] })
      const agent = yield* agentUnderTest(world)
      const abandoned = yield* start(agent.callTool(call))
      yield* nextOpen(world, computer)
      const { id } = yield* firstOpen(agent)
      const other = yield* start(agent.callTool({ ...call, params: { text: "y" } }))
      yield* Stream.runHead(Stream.filter(computer.approvals, (all) => all.length === 2))
      yield* world.elapse("1 second")
      yield* Stream.runHead(Stream.filter(agent.approvals, (all) => all.length === 2))
      yield* Fiber.interrupt(abandoned)
      const [left] = Option.getOrThrow(
        yield* Stream.runHead(Stream.filter(agent.approvals, (all) => all.every((one) => one.id !== id)))
      )
      yield* agent.decideApproval("pc-1", left?.id ?? "", { action: "deny" })
      assert.strictEqual(errorCodeOf(yield* Fiber.join(other)), 4005)
      yield* noneOpen(agent)
    })
  )

  conform("ends when its Agent cancels the call", (world) =>
    Effect.gen(function* () {
      const { computer } = yield* officeWith(world, { approvers: ["page"] })
      const agent = yield* agentUnderTest(world)
      const calling = yield* start(agent.callTool(call))
      yield* nextOpen(world, computer)
      yield* Fiber.interrupt(calling)
      yield* noneOpen(computer)
    })
  )
})
