import { createMCPClient, MCPClientError } from "@ai-sdk/mcp"
import { assert, describe, it } from "@effect/vitest"
import { generateText, isStepCount } from "ai"
import { MockLanguageModelV4 } from "ai/test"
import { Effect } from "effect"
import { makeAiSdkTransport } from "../../src/adapters/llm/aiSdkTransport.ts"
import { makeMcpClient } from "../../src/adapters/llm/McpClientLike.ts"
import { stayOffline } from "../../test/adapters/llm/offline.ts"
import { dot, giveUp, makeTools } from "../../test/adapters/llm/tools.ts"

stayOffline()

const started = Effect.gen(function* () {
  const tools = yield* makeTools
  const client = yield* makeMcpClient(tools.session)
  const uncaught: Array<unknown> = []
  const mcp = yield* Effect.acquireRelease(
    Effect.promise(() =>
      createMCPClient({
        transport: makeAiSdkTransport(client),
        onUncaughtError: (error) => void uncaught.push(error)
      })
    ),
    (opened) => Effect.promise(() => opened.close())
  )
  return { ...tools, client, mcp, uncaught }
})

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined }
}

/** A model that calls one tool and then stops. */
const calling = (toolName: string, input: object) =>
  new MockLanguageModelV4({
    doGenerate: [
      {
        content: [{ type: "tool-call", toolCallId: "call_1", toolName, input: JSON.stringify(input) }],
        finishReason: { unified: "tool-calls", raw: undefined },
        usage,
        warnings: []
      },
      {
        content: [{ type: "text", text: "done" }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: []
      }
    ]
  })

/** Runs a model that calls one tool, and returns the tool result that the model receives. */
const outputOf = Effect.fnUntraced(function* (toolName: string, input: object = { text: "" }) {
  const { mcp } = yield* started
  const model = calling(toolName, input)
  yield* Effect.promise(async () =>
    generateText({ model, tools: await mcp.tools(), stopWhen: isStepCount(2), prompt: "go" })
  )
  const last = model.doGenerateCalls[1]?.prompt.at(-1)
  const [part] = last?.role === "tool" ? last.content : []
  return part?.type === "tool-result" ? part.output : assert.fail("the model got no result")
})

describe("AI SDK MCP client", () => {
  it.effect("reads the server info", () =>
    Effect.gen(function* () {
      const { mcp } = yield* started
      assert.deepStrictEqual(mcp.serverInfo, { name: "workshop", version: "1.0.0" })
    })
  )

  it.effect("lists the tools of all pages with their metadata", () =>
    Effect.gen(function* () {
      const { mcp } = yield* started
      const tools = yield* Effect.promise(() => mcp.tools())
      assert.strictEqual(Object.keys(tools).length, 7)
      assert.deepStrictEqual(tools["echo"]?._meta, { "vendor/hint": "fast" })
    })
  )

  it.effect("receives text", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* outputOf("echo", { text: "hello" }), {
        type: "content",
        value: [{ type: "text", text: "hello" }]
      })
    })
  )

  it.effect("receives images", () =>
    Effect.gen(function* () {
      const output = yield* outputOf("paint")
      const [part] = output.type === "content" ? output.value : []
      assert.deepInclude(part, {
        type: "file",
        mediaType: "image/png",
        data: { type: "data", data: dot }
      })
    })
  )

  it.effect("receives structured results", () =>
    Effect.gen(function* () {
      const { mcp } = yield* started
      const result = yield* Effect.promise(() => mcp.callTool({ name: "measure" }))
      assert.deepInclude(result, { structuredContent: { width: 3 } })
    })
  )

  it.effect("receives a tool failure with isError", () =>
    Effect.gen(function* () {
      const { mcp } = yield* started
      const result = yield* Effect.promise(() => mcp.callTool({ name: "break" }))
      assert.deepInclude(result, { isError: true, content: [{ type: "text", text: "it broke" }] })
    })
  )

  it.effect("fails with the code and the message of a rejecting peer", () =>
    Effect.gen(function* () {
      const { mcp } = yield* started
      const error = yield* Effect.promise(() => mcp.callTool({ name: "refuse" }).catch((reason: unknown) => reason))
      assert.isTrue(MCPClientError.isInstance(error))
      assert.deepInclude(error, { code: -32602, message: "no such screw" })
    })
  )

  it.effect("cancels a tool with the signal of its run and ignores its result", () =>
    Effect.gen(function* () {
      const { mcp, started: running, stopped, uncaught } = yield* started
      const controller = giveUp()
      const run = (async () =>
        generateText({
          model: calling("wait", { text: "" }),
          tools: await mcp.tools(),
          stopWhen: isStepCount(2),
          prompt: "go",
          abortSignal: controller.signal
        }))().then(
        () => "done",
        () => "aborted"
      )
      yield* running
      controller.abort()
      yield* stopped
      assert.strictEqual(yield* Effect.promise(() => run), "aborted")
      assert.deepStrictEqual(uncaught, [])
    })
  )

  it.effect("aborts its calls on close and leaves the client open", () =>
    Effect.gen(function* () {
      const { client, mcp, started: running, stopped } = yield* started
      const call = mcp.callTool({ name: "wait" }).then(
        () => "done",
        () => "closed"
      )
      yield* running
      yield* Effect.promise(() => mcp.close())
      yield* stopped
      assert.strictEqual(yield* Effect.promise(() => call), "closed")
      yield* Effect.promise(() => client.ping())
    })
  )

  it.effect("lists and reads resources", () =>
    Effect.gen(function* () {
      const { mcp } = yield* started
      const { resources } = yield* Effect.promise(() => mcp.listResources())
      assert.deepStrictEqual(resources, [{ uri: "note://one", name: "one" }])
      const { contents } = yield* Effect.promise(() => mcp.readResource({ uri: "note://one" }))
      assert.deepStrictEqual(contents, [{ uri: "note://one", text: "first" }])
    })
  )

  it.effect("receives an error for an unknown method", () =>
    Effect.gen(function* () {
      const { mcp } = yield* started
      const error = yield* Effect.promise(() => mcp.listResourceTemplates().catch((reason: unknown) => reason))
      assert.deepInclude(error, { code: -32601 })
    })
  )

  it.effect("receives an error for a call without a tool name", () =>
    Effect.gen(function* () {
      const { client } = yield* started
      const transport = makeAiSdkTransport(client)
      const answer = new Promise((resolve) => (transport.onmessage = resolve))
      yield* Effect.promise(() =>
        transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { arguments: {} } })
      )
      assert.deepStrictEqual(yield* Effect.promise(() => answer), {
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32602, message: "params.name: expected a string" }
      })
    })
  )

  it.effect("fails to send on a closed transport", () =>
    Effect.gen(function* () {
      const { client } = yield* started
      const transport = makeAiSdkTransport(client)
      yield* Effect.promise(() => transport.close())
      const sent = transport.send({ jsonrpc: "2.0", id: 1, method: "ping" })
      assert.include(yield* Effect.promise(() => sent.catch(String)), "the transport is closed")
    })
  )
})
