import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { MemoryMcpServerOptions } from "../../src/adapters/memory/MemoryMcp.ts"
import { makeAgentRequests } from "../../src/application/agent/AgentRequests.ts"
import { makeKnownPeers } from "../../src/application/agent/mcpChannel.ts"
import type { JsonObject } from "../../src/domain/json.ts"
import { agentIn, computerIn, statusAgentIn } from "./joinedMembers.ts"
import { agentUnderTest, computerUnderTest, textResult, tool } from "./members.ts"
import { conform } from "./World.ts"

const target = { agent: "agent-1", req_id: "r1", computer: "pc-1" }
const list = { method: "servers/list", params: {} }

/** An MCP server with one prompt, which quotes the arguments. */
const promptingServer: MemoryMcpServerOptions = {
  tools: [tool("t")],
  capabilities: { prompts: true },
  answer: (method, params) =>
    Effect.succeed(method === "prompts/list" ? { prompts: [{ name: "greet" }] } : { got: params })
}

describe("requests to MCP servers", () => {
  conform("are announced to members that ask, and to no others", (world) =>
    Effect.gen(function* () {
      yield* computerUnderTest(world, { servers: { alpha: promptingServer } })
      const listRoom = { agent: "agent-1", req_id: "r1", office_id: "O1" }
      const plain = yield* agentIn(world, "O1")
      const answers = [
        ...(yield* plain.request("server:list_room", listRoom)),
        ...(yield* plain.request("client:get_tools", target))
      ] as ReadonlyArray<JsonObject>
      assert.deepStrictEqual(
        answers.map((answer) => answer["a2c_features"]),
        [undefined, undefined]
      )
      yield* plain.close
      const knowing = yield* statusAgentIn(world, "O1")
      const announced = [
        ...(yield* knowing.request("server:list_room", listRoom)),
        ...(yield* knowing.request("client:get_tools", { ...target, a2c_features: ["mcp"] }))
      ] as ReadonlyArray<JsonObject>
      assert.deepStrictEqual(
        announced.map((answer) => answer["a2c_features"]),
        [["mcp"], ["mcp"]]
      )
    })
  )

  conform("reach a Computer by their event, and as tool calls through any Server", (world) =>
    Effect.gen(function* () {
      yield* computerUnderTest(world, { servers: { alpha: promptingServer } })
      const a1 = yield* agentIn(world, "O1")
      const get = { method: "prompts/get", server: "alpha", params: { name: "greet" } }
      const [byEvent] = (yield* a1.request("client:mcp", { ...target, ...get })) as ReadonlyArray<JsonObject>
      assert.deepStrictEqual(byEvent, { result: { got: { name: "greet" } }, req_id: "r1" })
      const call = { ...target, tool_name: "a2c:mcp", params: get, timeout: 30 }
      const [asCall] = (yield* a1.request("client:tool_call", call)) as ReadonlyArray<JsonObject>
      assert.deepStrictEqual(asCall?.["structuredContent"], { result: { got: { name: "greet" } } })
    })
  )

  conform("of a malformed kind are rejected with 400, and of an unknown server with its name", (world) =>
    Effect.gen(function* () {
      yield* computerUnderTest(world, { servers: { alpha: promptingServer } })
      const a1 = yield* agentIn(world, "O1")
      const invalid = { ...target, ...list, params: 5 }
      const [malformed] = (yield* a1.request("client:mcp", invalid)) as ReadonlyArray<JsonObject>
      assert.strictEqual(malformed?.["code"], 400)
      const get = { method: "prompts/get", server: "gone", params: {} }
      const [unknown] = (yield* a1.request("client:mcp", { ...target, ...get })) as ReadonlyArray<JsonObject>
      assert.deepStrictEqual(unknown?.["failure"], { code: -32602, message: "No MCP server 'gone' runs here" })
    })
  )

  conform("are sent to Computers that announce them, and not to others", (world) =>
    Effect.gen(function* () {
      const agent = yield* agentUnderTest(world)
      const plain = yield* computerIn(world, "O1", "pc-2")
      yield* plain.answers((event, body) => {
        const { req_id } = body as JsonObject
        return Effect.succeed([event === "client:get_tools" ? { tools: [], req_id } : { desktops: [], req_id }])
      })
      yield* computerUnderTest(world, { servers: { alpha: promptingServer } })
      yield* agent.followServers
      const [server] = yield* agent.mcpServers("pc-1")
      assert.deepStrictEqual(server?.prompts, [{ name: "greet" }])
      assert.deepStrictEqual(yield* agent.mcpServers("pc-2"), [])
      yield* agent.settled
      const received = new Set(plain.received().map(({ event }) => event))
      assert.isFalse(received.has("client:mcp") || received.has("client:tool_call"))
    })
  )

  conform("go as tool calls where the Server does not announce them", (world) =>
    Effect.gen(function* () {
      const { member } = yield* agentUnderTest(world)
      yield* computerUnderTest(world, { servers: { alpha: promptingServer } })
      const plain = yield* computerIn(world, "O1", "pc-2")
      yield* plain.answers(() =>
        // Without a code, as published Computers reply.
        Effect.succeed([{ ...textResult("no such tool"), isError: true, structuredContent: {} }])
      )
      const peers = { ...makeKnownPeers(), serverPassesMcp: false }
      const agent = makeAgentRequests(member, { name: "agent-1", office: "O1", peers })
      const [server] = yield* agent.mcpServers("pc-1")
      assert.deepStrictEqual(server?.prompts, [{ name: "greet" }])
      const request = { server: "alpha", method: "prompts/get", params: { name: "greet" } } as const
      assert.deepStrictEqual(yield* agent.mcpRequest("pc-1", request), { got: { name: "greet" } })
      assert.deepStrictEqual(yield* agent.mcpServers("pc-2"), [])
      const failure = yield* Effect.flip(agent.mcpRequest("pc-2", request))
      assert.deepInclude(failure, { _tag: "McpSessionError", reason: "unsupported" })
    })
  )
})
