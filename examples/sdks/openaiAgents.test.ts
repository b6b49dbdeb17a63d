import { assert, describe, it } from "@effect/vitest"
import { Agent, mcpToFunctionTool, type MCPServerWithResources, Runner, setTracingDisabled } from "@openai/agents"
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents/testing"
import { Effect } from "effect"
import { makeAgentsServer } from "../../src/adapters/llm/agentsServer.ts"
import { makeMcpClient } from "../../src/adapters/llm/McpClientLike.ts"
import type { MemoryTool } from "../../src/adapters/memory/MemoryMcp.ts"
import { stayOffline } from "../../test/adapters/llm/offline.ts"
import { dot, giveUp, makeTools } from "../../test/adapters/llm/tools.ts"

stayOffline()
setTracingDisabled(true)

const started = Effect.gen(function* () {
  const tools = yield* makeTools
  const client = yield* makeMcpClient(tools.session)
  const server: MCPServerWithResources = makeAgentsServer(client)
  return { ...tools, client, memory: tools.server, server }
})

const runner = new Runner({ tracingDisabled: true })

/** Runs an agent whose model calls one tool, and returns the tool result that the model receives. */
const outputOf = Effect.fnUntraced(function* (
  name: string,
  args: Record<string, unknown> = {},
  settings: Partial<MCPServerWithResources> = {},
  more: ReadonlyArray<MemoryTool> = []
) {
  const { memory, server } = yield* started
  if (more.length > 0) yield* memory.setTools(more)
  const model = new ScriptedModel([[functionCall(name, args, { callId: "call_1" })], [assistantMessage("done")]])
  const agent = new Agent({ name: "worker", model, mcpServers: [{ ...server, ...settings }] })
  yield* Effect.promise(() => runner.run(agent, "go"))
  const input = model.lastCall?.request.input
  const last = Array.isArray(input) ? input.at(-1) : undefined
  return last?.type === "function_call_result" ? last.output : assert.fail("the model got no result")
})

describe("OpenAI Agents SDK agent", () => {
  it.effect("lists the tools of all pages as not strict", () =>
    Effect.gen(function* () {
      const { server } = yield* started
      const listed = yield* Effect.promise(() => server.listTools())
      assert.strictEqual(listed.length, 7)
      const tools = listed.map((tool) => mcpToFunctionTool(tool, server, false))
      assert.isTrue(tools.every(({ strict }) => !strict))
      assert.deepInclude(tools[0]?.parameters, { properties: { text: { type: "string" } } })
    })
  )

  it.effect("receives text", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* outputOf("echo", { text: "hello" }), [{ type: "input_text", text: "hello" }])
    })
  )

  it.effect("receives images", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* outputOf("paint"), [{ type: "input_image", image: `data:image/png;base64,${dot}` }])
    })
  )

  it.effect("receives all content blocks without other members", () =>
    Effect.gen(function* () {
      const content = [
        { type: "text", text: "a dot" },
        { type: "image", data: dot, mimeType: "image/png" }
      ]
      const show = {
        definition: { name: "show", inputSchema: { type: "object" } },
        run: () => Effect.succeed({ content, isError: false, structuredContent: { dots: 1 } })
      }
      assert.deepStrictEqual(yield* outputOf("show", {}, {}, [show]), [
        { type: "input_text", text: "a dot" },
        { type: "input_image", image: `data:image/png;base64,${dot}` }
      ])
    })
  )

  it.effect("receives structured results when the host enables them", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* outputOf("measure", {}, { useStructuredContent: true }), {
        type: "text",
        text: '{"width":3}'
      })
    })
  )

  it.effect("receives the message of a failed tool", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* outputOf("break"), [{ type: "input_text", text: "it broke" }])
    })
  )

  it.effect("passes isError and other result members to the host", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      yield* outputOf(
        "break",
        {},
        {
          customDataExtractor: ({ isError, toolName }) => {
            seen.push([toolName, isError])
            return {}
          }
        }
      )
      assert.deepStrictEqual(seen, [["break", true]])
    })
  )

  it.effect("finds the same members on the content blocks", () =>
    Effect.gen(function* () {
      const { server } = yield* started
      const broken = yield* Effect.promise(() => server.callTool("break", null))
      const measured = yield* Effect.promise(() => server.callTool("measure", {}))
      const echoed = yield* Effect.promise(() => server.callTool("echo", { text: "x" }))
      assert.isTrue(broken.isError)
      assert.deepStrictEqual(measured.structuredContent, { width: 3 })
      assert.deepStrictEqual(echoed._meta, { "x/y": 1 })
      assert.strictEqual(JSON.stringify(broken), '[{"type":"text","text":"it broke"}]')
    })
  )

  it.effect("receives the message of a rejecting peer when the host enables it", () =>
    Effect.gen(function* () {
      const settings = { errorFunction: ({ error }: { error: unknown }) => String(error) }
      assert.deepStrictEqual(yield* outputOf("refuse", {}, settings), {
        type: "text",
        text: "McpClientError: no such screw"
      })
    })
  )

  it.effect("cancels a tool with the signal of its run", () =>
    Effect.gen(function* () {
      const { server, started: running, stopped } = yield* started
      const model = new ScriptedModel([[functionCall("wait", {}, { callId: "call_1" })]])
      const agent = new Agent({ name: "worker", model, mcpServers: [server] })
      const controller = giveUp()
      const run = runner.run(agent, "go", { signal: controller.signal }).then(
        () => "done",
        () => "aborted"
      )
      yield* running
      controller.abort()
      yield* stopped
      assert.strictEqual(yield* Effect.promise(() => run), "aborted")
    })
  )

  it.effect("aborts its calls on close and connects again", () =>
    Effect.gen(function* () {
      const { client, server, started: running, stopped } = yield* started
      const call = server.callTool("wait", {}).catch(String)
      yield* running
      yield* Effect.promise(() => server.close())
      yield* stopped
      assert.include(yield* Effect.promise(() => call), "'workshop' was closed")
      yield* Effect.promise(() => client.ping())
      yield* Effect.promise(() => server.connect())
      assert.strictEqual((yield* Effect.promise(() => server.listTools())).length, 7)
    })
  )

  it.effect("lists and reads resources", () =>
    Effect.gen(function* () {
      const { server } = yield* started
      assert.deepStrictEqual((yield* Effect.promise(() => server.listResources())).resources, [
        { uri: "note://one", name: "one" }
      ])
      assert.deepStrictEqual(yield* Effect.promise(() => server.readResource("note://one")), {
        contents: [{ uri: "note://one", text: "first" }]
      })
    })
  )
})
