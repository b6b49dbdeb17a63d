import { assert, describe, it } from "@effect/vitest"
import { fakeModel } from "@langchain/core/testing"
import { DynamicStructuredTool } from "@langchain/core/tools"
import { Effect } from "effect"
import { AIMessage, createAgent, ToolMessage } from "langchain"
import { listLangChainTools } from "../../src/adapters/llm/langChainTools.ts"
import { makeMcpClient } from "../../src/adapters/llm/McpClientLike.ts"
import { McpToolError } from "../../src/adapters/llm/McpClientError.ts"
import { stayOffline } from "../../test/adapters/llm/offline.ts"
import { dot, giveUp, makeTools } from "../../test/adapters/llm/tools.ts"

stayOffline()

const started = Effect.gen(function* () {
  const tools = yield* makeTools
  const client = yield* makeMcpClient(tools.session)
  const list = Effect.promise(async () =>
    (await listLangChainTools(client)).map((tool) => new DynamicStructuredTool(tool))
  )
  return { ...tools, list }
})

/** An agent whose model calls one tool and then stops, and a message for it. */
const calling = (tools: Array<DynamicStructuredTool>, name: string, args: object = { text: "" }) => {
  const model = fakeModel()
    .respondWithTools([{ name, args: { ...args } }])
    .respond(new AIMessage("done"))
  return { agent: createAgent({ model, tools }), input: { messages: [{ role: "user", content: "go" }] } }
}

/** Runs an agent whose model calls one tool, and returns the message with the result. */
const messageOf = Effect.fnUntraced(function* (name: string, args?: object) {
  const { list } = yield* started
  const { agent, input } = calling(yield* list, name, args)
  const { messages } = yield* Effect.promise(() => agent.invoke(input))
  return messages.find((message) => ToolMessage.isInstance(message)) ?? assert.fail("the model got no result")
})

describe("LangChain agent", () => {
  it.effect("receives the tools of all pages with their schemas and hints", () =>
    Effect.gen(function* () {
      const { list } = yield* started
      const tools = yield* list
      assert.strictEqual(tools.length, 7)
      assert.deepInclude(tools[0], {
        name: "echo",
        description: "Tool echo",
        schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        metadata: { annotations: { readOnlyHint: true }, _meta: { "vendor/hint": "fast" } }
      })
    })
  )

  it.effect("receives text, and the whole result as the artifact", () =>
    Effect.gen(function* () {
      const { artifact, content, status } = yield* messageOf("echo", { text: "hello" })
      assert.strictEqual(content, "hello")
      assert.strictEqual(status, "success")
      assert.deepStrictEqual(artifact, { content: [{ type: "text", text: "hello" }], _meta: { "x/y": 1 } })
    })
  )

  it.effect("receives images", () =>
    Effect.gen(function* () {
      const { content, contentBlocks } = yield* messageOf("paint")
      const url = `data:image/png;base64,${dot}`
      assert.deepStrictEqual(content, [{ type: "image_url", image_url: { url } }])
      assert.deepInclude(contentBlocks[0], { type: "image", mimeType: "image/png", data: dot })
    })
  )

  it.effect("receives audio beside text", () =>
    Effect.gen(function* () {
      const { list, server } = yield* started
      yield* server.setTools([
        {
          definition: { name: "speak", inputSchema: { type: "object" } },
          run: () =>
            Effect.succeed({
              content: [
                { type: "text", text: "hello" },
                { type: "audio", data: "AAAA", mimeType: "audio/wav" }
              ]
            })
        }
      ])
      const { agent, input } = calling(yield* list, "speak")
      const { messages } = yield* Effect.promise(() => agent.invoke(input))
      assert.deepStrictEqual(messages.at(-2)?.content, [
        { type: "text", text: "hello" },
        { type: "audio", source_type: "base64", data: "AAAA", mime_type: "audio/wav" }
      ])
    })
  )

  it.effect("receives structured results", () =>
    Effect.gen(function* () {
      const { artifact, content } = yield* messageOf("measure")
      assert.strictEqual(content, '{"width":3}')
      assert.deepInclude(artifact, { structuredContent: { width: 3 } })
    })
  )

  it.effect("receives the message of a failed tool", () =>
    Effect.gen(function* () {
      const { content, status } = yield* messageOf("break")
      assert.strictEqual(status, "error")
      assert.include(content, "it broke")
    })
  )

  it.effect("receives the message of a rejecting peer", () =>
    Effect.gen(function* () {
      const { content, status } = yield* messageOf("refuse")
      assert.strictEqual(status, "error")
      assert.include(content, "no such screw")
    })
  )

  it.effect("receives the message of the schema for invalid params", () =>
    Effect.gen(function* () {
      const { content, status } = yield* messageOf("echo", { text: 1 })
      assert.strictEqual(status, "error")
      assert.include(content, "did not match expected schema")
    })
  )

  it.effect("cancels a tool with the signal of its run", () =>
    Effect.gen(function* () {
      const { list, started: running, stopped } = yield* started
      const controller = giveUp()
      const { agent, input } = calling(yield* list, "wait")
      const run = agent.invoke(input, { signal: controller.signal }).then(
        () => "done",
        () => "aborted"
      )
      yield* running
      controller.abort()
      yield* stopped
      assert.strictEqual(yield* Effect.promise(() => run), "aborted")
    })
  )

  it.effect("receives the tools of the moment of the listing", () =>
    Effect.gen(function* () {
      const { list, server } = yield* started
      const before = yield* list
      yield* server.setTools([
        {
          definition: { name: "late", inputSchema: { type: "object" } },
          run: () => Effect.succeed({ content: [{ type: "text", text: "here" }] })
        }
      ])
      assert.deepStrictEqual(
        (yield* list).map(({ name }) => name),
        ["late"]
      )
      const { agent, input } = calling(before, "echo")
      const { messages } = yield* Effect.promise(() => agent.invoke(input))
      assert.propertyVal(messages.at(-2), "status", "error")
    })
  )
})

describe("LangChain tool", () => {
  it.effect("throws the result of a failed tool", () =>
    Effect.gen(function* () {
      const tools = yield* (yield* started).list
      const broken = tools.find(({ name }) => name === "break")
      const error: unknown = yield* Effect.promise(async () =>
        broken?.invoke({ text: "" }).catch((reason: unknown) => reason)
      )
      assert.instanceOf(error, McpToolError)
      assert.deepStrictEqual(error.result, { content: [{ type: "text", text: "it broke" }], isError: true })
    })
  )
})
