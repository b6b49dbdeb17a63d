import { assert, describe } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Stream } from "effect"
import * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../src/application/agent/Agent.ts"
import { jsonBody } from "../../src/application/ports/Body.ts"
import { computerIn, settled } from "./joinedMembers.ts"
import {
  agentUnderTest,
  computerUnderTest,
  hangingTool,
  resource,
  scriptedOffice,
  textResult,
  tool
} from "./members.ts"
import { conform } from "./World.ts"

const forEver = Duration.hours(1)

describe("Agent", () => {
  conform("cases 189, 190, 191, 276: updates the view on notifications", (world) =>
    Effect.gen(function* () {
      const alpha = yield* MemoryMcp.makeMemoryMcpServer({
        tools: [tool("a")],
        resources: [resource("window://h/1")]
      })
      yield* computerUnderTest(world, { servers: { alpha } })
      const agent = yield* agentUnderTest(world)
      const shows = (computer: string, tools: ReadonlyArray<string>, desktop: ReadonlyArray<string>) =>
        agent.changes.pipe(
          Stream.filter(({ computers }) => {
            const view = computers.get(computer)
            const names = view?.tools?.map(({ name }) => name)
            return names?.join() === tools.join() && view?.desktop?.join() === desktop.join()
          }),
          Stream.runHead
        )
      yield* agent.settled
      yield* shows("pc-1", ["a"], ["window://h/1\n\nT"])
      yield* computerUnderTest(world, { name: "pc-2", servers: { beta: { tools: [tool("b")] } } })
      yield* shows("pc-2", ["b"], [])
      yield* alpha.setTools([tool("a"), tool("a2")])
      yield* shows("pc-1", ["a", "a2"], ["window://h/1\n\nT"])
      yield* alpha.setResources([])
      yield* shows("pc-1", ["a", "a2"], [])
      const { members } = yield* agent.view
      assert.deepStrictEqual(members.map(({ name }) => name).sort(), ["agent-1", "pc-1", "pc-2"])
    })
  )

  conform("case 190: removes the tools of a Computer that leaves", (world) =>
    Effect.gen(function* () {
      const { agent, c1 } = yield* scriptedOffice(world)
      yield* agent.settled
      assert.deepStrictEqual([...(yield* agent.view).computers.keys()], ["pc-1"])
      yield* c1.close
      const empty = yield* agent.changes.pipe(
        Stream.filter(({ computers }) => computers.size === 0),
        Stream.runHead
      )
      assert.strictEqual(empty._tag, "Some")
    })
  )

  conform("case 334: fetches documents when they change", (world) =>
    Effect.gen(function* () {
      const { agent, c1 } = yield* scriptedOffice(world, (event, { req_id }) =>
        event === "client:get_finder" ? { documents: [], total_count: 0, req_id } : undefined
      )
      yield* agent.settled
      yield* c1.notify("server:update_finder", { computer: "pc-1" })
      yield* c1.receive("client:get_finder")
    })
  )

  conform("case 192: rejects a reply to another request", (world) =>
    Effect.gen(function* () {
      const { agent } = yield* scriptedOffice(world, () => ({ tools: [], req_id: "other" }))
      assert.strictEqual((yield* Effect.flip(agent.getTools("pc-1")))._tag, "BadReply")
    })
  )

  conform("case 164: cancels a call that times out", (world) =>
    Effect.gen(function* () {
      const c1 = yield* computerIn(world, "O1")
      const agent = yield* agentUnderTest(world)
      yield* c1.answers(() => Effect.never)
      const calling = yield* Effect.forkChild(agent.callTool({ computer: "pc-1", tool: "t", timeout: 1 }))
      const request = (yield* c1.receive("client:tool_call")) as { readonly req_id: string }
      yield* world.elapse("1 second")
      const result = yield* Fiber.join(calling)
      assert.isTrue(result.isError)
      assert.deepStrictEqual(result.content, [{ type: "text", text: "Tool call timeout" }])
      assert.deepInclude(result.meta, { timeout: true, a2c_timeout: true })
      assert.deepStrictEqual(yield* c1.receive("notify:tool_call_cancel"), {
        agent: "agent-1",
        req_id: request.req_id
      })
    })
  )

  conform("cancels an interrupted call at the Computer", (world) =>
    Effect.gen(function* () {
      const { hanging, started, stopped } = yield* hangingTool("slow")
      yield* computerUnderTest(world, { servers: { alpha: { tools: [hanging] } } })
      const agent = yield* agentUnderTest(world)
      const calling = yield* Effect.forkChild(agent.callTool({ computer: "pc-1", tool: "slow" }))
      yield* started
      yield* Fiber.interrupt(calling)
      yield* stopped
    })
  )

  conform("cases 347, 350, 351: distinguishes error replies from failed tools, without retries", (world) =>
    Effect.gen(function* () {
      const { agent, c1 } = yield* scriptedOffice(world, (event) => {
        if (event === "client:tool_call") {
          return {
            content: [],
            isError: true,
            meta: { error_code: 4006, mcp_server: "s", auth_hint: { message: "log in" } }
          }
        }
        return event === "client:get_dpe" ? { code: 4013, message: "x", uri: "u", category: "brand_new" } : undefined
      })
      const ghost = yield* Effect.flip(agent.callTool({ computer: "ghost", tool: "t" }))
      assert.isTrue(ghost._tag === "ProtocolError" && ghost.code === 404)
      const unauthorized = yield* agent.callTool({ computer: "pc-1", tool: "t" })
      assert.isTrue(unauthorized.isError)
      assert.deepStrictEqual(unauthorized.meta?.["auth_hint"], { message: "log in" })
      const dpe = yield* Effect.flip(agent.getDpe("pc-1", "dpe://h/d"))
      assert.isTrue(dpe._tag === "ProtocolError" && dpe.code === 4013 && dpe.extra?.["category"] === "brand_new")
      yield* settled([c1])
      assert.strictEqual(c1.received().filter(({ event }) => event === "client:tool_call").length, 1)
    })
  )

  conform("cases 337, 348, 349: accepts older and newer encodings", (world) =>
    Effect.gen(function* () {
      const { agent } = yield* scriptedOffice(world, (event, { req_id }) => {
        if (event === "client:tool_call") return { content: [], _meta: { k: 1 }, unknown: { x: 1 } }
        if (event === "client:get_config") return { error: { code: 404, message: "x" } }
        return { tools: [], desktops: [], req_id, unknown: 1 }
      })
      assert.deepStrictEqual((yield* agent.callTool({ computer: "pc-1", tool: "t" })).meta, { k: 1 })
      const error = yield* Effect.flip(agent.getConfig("pc-1"))
      assert.isTrue(error._tag === "ProtocolError" && error.code === 404)
      assert.deepStrictEqual(yield* agent.getTools("pc-1"), [])
    })
  )

  conform("case 284: rejects a document URI with a query before sending it", (world) =>
    Effect.gen(function* () {
      const { agent, c1 } = yield* scriptedOffice(world)
      const error = yield* Effect.flip(agent.getDpe("pc-1", "dpe://h/d?x=1"))
      assert.isTrue(error._tag === "ProtocolError" && error.code === 4012)
      yield* settled([c1])
      assert.isFalse(c1.received().some(({ event }) => event === "client:get_dpe"))
    })
  )

  conform("rejects an invalid value before sending it", (world) =>
    Effect.gen(function* () {
      const agent = yield* agentUnderTest(world)
      const error = yield* Effect.flip(agent.callTool({ computer: "pc-1", tool: "t", timeout: 0 }))
      assert.isTrue(error._tag === "ProtocolError" && error.code === 400 && error.message.includes("timeout"))
    })
  )

  conform("cases 345, 346: rejects events of another role", (world) =>
    Effect.gen(function* () {
      const agent = yield* agentUnderTest(world)
      const computer = yield* computerUnderTest(world)
      const sitting = (yield* computer.member) ?? assert.fail("the Computer has no seat")
      const errorTag = (member: typeof agent.member, event: string) =>
        Effect.map(Effect.flip(member.request(event, jsonBody({}), forEver)), ({ _tag }) => _tag)
      for (const event of ["notify:enter_office", "server:update_config"]) {
        assert.strictEqual(yield* errorTag(agent.member, event), "NotPermitted")
      }
      for (const event of ["notify:enter_office", "client:get_tools", "client:foo", "server:list_room"]) {
        assert.strictEqual(yield* errorTag(sitting, event), "NotPermitted")
      }
    })
  )

  conform("reports why a second Agent cannot join", (world) =>
    Effect.gen(function* () {
      yield* agentUnderTest(world)
      const layer = Agent.layer({ name: "agent-2", office: "O1" }).pipe(
        Layer.provide(world.client),
        Layer.provide(world.logging)
      )
      const error = yield* Effect.flip(Layer.build(Layer.fresh(layer)))
      assert.isTrue(error._tag === "JoinRejected" && error.current?.name === "agent-1")
    })
  )

  conform("sends every request to our Computer", (world) =>
    Effect.gen(function* () {
      const alpha = {
        tools: [tool("t", (args) => Effect.succeed(textResult(JSON.stringify(args))))],
        resources: [resource("window://h/1"), resource("dpe://h/d", ["{}"], { name: "D", _meta: { page_count: 1 } })]
      }
      yield* computerUnderTest(world, {
        servers: { alpha },
        settings: { resolveDpe: ({ uri }) => Effect.succeed({ uri: uri.replace("dpe", "https") }) }
      })
      const agent = yield* agentUnderTest(world)
      assert.deepStrictEqual(
        (yield* agent.members).map(({ name, role, version }) => [name, role, version]),
        [
          ["agent-1", "agent", "0.2.0"],
          ["pc-1", "computer", "0.2.0"]
        ]
      )
      const result = yield* agent.callTool({ computer: "pc-1", tool: "t", params: { x: 1 } })
      assert.deepStrictEqual(result.content, [{ type: "text", text: '{"x":1}' }])
      assert.deepStrictEqual(
        (yield* agent.getTools("pc-1")).map(({ name }) => name),
        ["t"]
      )
      assert.deepStrictEqual(Object.keys((yield* agent.getConfig("pc-1")).servers), ["alpha"])
      assert.deepStrictEqual(yield* agent.getDesktop("pc-1", { size: 1 }), ["window://h/1\n\nT"])
      assert.deepStrictEqual(yield* agent.getDpe("pc-1", "dpe://h/d"), { uri: "https://h/d" })
      assert.strictEqual((yield* agent.getResources("pc-1", "alpha")).resources.length, 2)
      const { documents, totalCount } = yield* agent.findDocuments("pc-1", { keywords: ["d"] })
      assert.deepStrictEqual([documents[0]?.title, totalCount], ["D", 1])
    })
  )
})
