import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import { agentIn, assertRejected, bodiesOf, settled } from "./joinedMembers.ts"
import { computerUnderTest, hangingTool, officeUnderTest, tool } from "./members.ts"
import { conform } from "./World.ts"

const request = { agent: "agent-1", computer: "pc-1" }

describe("office connection of a Computer", () => {
  conform("leaves an office and joins another one while the servers keep running", (world) =>
    Effect.gen(function* () {
      const alpha = yield* MemoryMcp.makeMemoryMcpServer({ tools: [tool("t")] })
      let starts = 0
      const counted = { ...alpha, connect: Effect.suspend(() => (starts++, alpha.connect)) }
      const computer = yield* computerUnderTest(world, { servers: { alpha: counted } })
      const a1 = yield* agentIn(world, "O1")
      const a2 = yield* agentIn(world, "O2", "agent-2")
      yield* computer.leave
      assert.deepStrictEqual(yield* a1.receive("notify:leave_office"), { office_id: "O1", computer: "pc-1" })
      assertRejected(yield* a1.request("client:get_tools", { ...request, req_id: "r1" }), 404)
      yield* computer.join({ office: "O2" })
      assert.strictEqual(yield* computer.office, "O2")
      const [answer] = yield* a2.request("client:get_tools", { ...request, agent: "agent-2", req_id: "r2" })
      assert.lengthOf((answer as { tools: ReadonlyArray<unknown> }).tools, 1)
      assert.strictEqual(starts, 1)
    })
  )

  conform("joins one office at a time", (world) =>
    Effect.gen(function* () {
      const computer = yield* computerUnderTest(world)
      const error = yield* Effect.flip(computer.join({ office: "O2" }))
      assert.strictEqual(error.message, "Already in office 'O1': leave it first")
    })
  )

  conform("allows another join after a rejected one", (world) =>
    Effect.gen(function* () {
      yield* computerUnderTest(world)
      const other = yield* computerUnderTest(world, { office: "O2" })
      yield* other.leave
      assert.strictEqual((yield* Effect.flip(other.join({ office: "O1" })))._tag, "JoinRejected")
      yield* other.join({ office: "O2" })
      assert.strictEqual(yield* other.office, "O2")
    })
  )

  conform("ends the calls of the Agent when the Computer leaves", (world) =>
    Effect.gen(function* () {
      const { hanging, started, stopped } = yield* hangingTool("hang")
      const { a1, computer } = yield* officeUnderTest(world, { alpha: { tools: [hanging] } })
      const call = { ...request, req_id: "r1", tool_name: "hang", params: {}, timeout: 60 }
      const asking = yield* Effect.forkChild(a1.request("client:tool_call", call))
      yield* started
      yield* computer.leave
      yield* stopped
      yield* Fiber.join(asking)
    })
  )

  conform("sends no notifications of changes outside an office", (world) =>
    Effect.gen(function* () {
      const { a1, computer } = yield* officeUnderTest(world, { alpha: { tools: [tool("t")] } })
      yield* computer.leave
      yield* computer.stop("alpha")
      yield* settled([a1])
      assert.lengthOf(bodiesOf(a1, "notify:update_tool_list"), 0)
      const status = yield* Stream.runHead(computer.status)
      assert.strictEqual(status._tag === "Some" ? status.value._tag : "", "NotJoined")
    })
  )
})
