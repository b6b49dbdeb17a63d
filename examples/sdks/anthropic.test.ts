import Anthropic from "@anthropic-ai/sdk"
import { mcpResourceToContent, mcpTools } from "@anthropic-ai/sdk/helpers/beta/mcp"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeMcpClient, withSignal } from "../../src/adapters/llm/McpClientLike.ts"
import { stayOffline } from "../../test/adapters/llm/offline.ts"
import { dot, giveUp, makeTools } from "../../test/adapters/llm/tools.ts"

stayOffline()

/** Fakes the responses of an Anthropic model. */
const scripted = (answers: ReadonlyArray<object>) => {
  const requests: Array<{ messages: ReadonlyArray<unknown> }> = []
  const fetch = async (_url: unknown, init?: { body?: unknown }) => {
    requests.push(JSON.parse(String(init?.body)))
    return Response.json({
      type: "message",
      role: "assistant",
      model: "none",
      ...answers[requests.length - 1]
    })
  }
  return { requests, anthropic: new Anthropic({ apiKey: "none", fetch, maxRetries: 0 }) }
}

const usage = { input_tokens: 1, output_tokens: 1 }

const using = (name: string, input: object) => ({
  id: "msg_1",
  stop_reason: "tool_use",
  usage,
  content: [{ type: "tool_use", id: "toolu_1", name, input }]
})

const done = { id: "msg_2", stop_reason: "end_turn", usage, content: [{ type: "text", text: "done" }] }

const started = Effect.gen(function* () {
  const tools = yield* makeTools
  return { ...tools, client: yield* makeMcpClient(tools.session) }
})

/** The tool result block that the model receives. */
const resultOf = Effect.fnUntraced(function* (name: string, input: object = {}) {
  const { client } = yield* started
  const { anthropic, requests } = scripted([using(name, input), done])
  yield* Effect.promise(async () =>
    anthropic.beta.messages.toolRunner({
      model: "none",
      max_tokens: 100,
      tools: mcpTools(await client.allTools(), client),
      messages: [{ role: "user", content: "go" }]
    })
  )
  const last: unknown = requests[1]?.messages.at(-1)
  return last
})

const answered = (block: object) => ({
  role: "user",
  content: [{ type: "tool_result", tool_use_id: "toolu_1", ...block }]
})

describe("Anthropic SDK tool runner", () => {
  it.effect("receives the schemas of the tools", () =>
    Effect.gen(function* () {
      const { client } = yield* started
      const [echo] = mcpTools(yield* Effect.promise(() => client.allTools()), client)
      assert.deepInclude(echo, {
        name: "echo",
        description: "Tool echo",
        input_schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] }
      })
    })
  )

  it.effect("receives text", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* resultOf("echo", { text: "hello" }),
        answered({ content: [{ type: "text", text: "hello" }] })
      )
    })
  )

  it.effect("receives images", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* resultOf("paint"),
        answered({
          content: [{ type: "image", source: { type: "base64", data: dot, media_type: "image/png" } }]
        })
      )
    })
  )

  it.effect("receives structured results", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* resultOf("measure"), answered({ content: '{"width":3}' }))
    })
  )

  it.effect("receives a tool failure with is_error", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* resultOf("break"),
        answered({ content: [{ type: "text", text: "it broke" }], is_error: true })
      )
    })
  )

  it.effect("receives the message of a rejecting peer", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* resultOf("refuse"), answered({ content: "Error: no such screw", is_error: true }))
    })
  )

  it.effect("cancels a tool with the signal of its client", () =>
    Effect.gen(function* () {
      const { client, started: running, stopped } = yield* started
      const { anthropic } = scripted([using("wait", {}), done])
      const controller = giveUp()
      const run = (async () => {
        const tools = mcpTools(await client.allTools(), withSignal(client, controller.signal))
        await anthropic.beta.messages.toolRunner(
          { model: "none", max_tokens: 100, tools, messages: [{ role: "user", content: "go" }] },
          { signal: controller.signal }
        )
      })()
      const ended = run.then(
        () => "done",
        (error: unknown) => (error instanceof Anthropic.APIUserAbortError ? "aborted" : String(error))
      )
      yield* running
      controller.abort()
      yield* stopped
      assert.strictEqual(yield* Effect.promise(() => ended), "aborted")
    })
  )

  it.effect("accepts resources as documents", () =>
    Effect.gen(function* () {
      const { client } = yield* started
      const read = yield* Effect.promise(() => client.readResource({ uri: "note://one" }))
      assert.deepInclude(mcpResourceToContent(read), {
        type: "document",
        source: { type: "text", media_type: "text/plain", data: "first" }
      })
    })
  )
})
