import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentConfig } from "@mastra/core/agent"
import { createTool } from "@mastra/core/tools"
import { Effect } from "effect"
import { listMastraTools } from "../../src/adapters/llm/mastraTools.ts"
import { makeMcpClient } from "../../src/adapters/llm/McpClientLike.ts"
import { McpToolError } from "../../src/adapters/llm/McpClientError.ts"
import { stayOffline } from "../../test/adapters/llm/offline.ts"
import { dot, giveUp, makeTools } from "../../test/adapters/llm/tools.ts"

stayOffline()

const started = Effect.gen(function* () {
  const tools = yield* makeTools
  const client = yield* makeMcpClient(tools.session)
  const list = async () =>
    Object.fromEntries((await listMastraTools(client)).map((tool) => [tool.id, createTool(tool)]))
  return { ...tools, client, list }
})

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined }
}

/** The members of a request that the tests read. */
interface Request {
  readonly prompt: ReadonlyArray<{ readonly role: string; readonly content: unknown }>
  readonly tools?: ReadonlyArray<object> | undefined
}

/** An agent whose model calls one tool and then stops, and the requests to the model. */
const calling = (tools: NonNullable<AgentConfig["tools"]>, toolName: string, input: object = { text: "" }) => {
  const requests: Array<Request> = []
  const model: AgentConfig["model"] = {
    specificationVersion: "v4",
    provider: "script",
    modelId: "script",
    supportedUrls: {},
    doGenerate: async (request) => {
      requests.push(request)
      const isAnswered = request.prompt.at(-1)?.role === "tool"
      return {
        content: [
          isAnswered
            ? { type: "text", text: "done" }
            : { type: "tool-call", toolCallId: "call_1", toolName, input: JSON.stringify(input) }
        ],
        finishReason: { unified: isAnswered ? "stop" : "tool-calls", raw: undefined },
        usage,
        warnings: []
      }
    },
    doStream: () => Promise.reject(new Error("not used"))
  }
  return { agent: new Agent({ id: "worker", name: "worker", instructions: "work", model, tools }), requests }
}

/** Runs an agent whose model calls one tool; gives the result for the model and the one for the program. */
const outcomeOf = Effect.fnUntraced(function* (name: string, input?: object) {
  const { list } = yield* started
  const { agent, requests } = calling(list, name, input)
  const { steps } = yield* Effect.promise(() => agent.generate("go"))
  const content: unknown = requests[1]?.prompt.at(-1)?.content
  const [part] = Array.isArray(content) ? content : []
  return {
    output: part?.output as unknown,
    result: steps[0]?.toolResults[0]?.payload.result as unknown,
    tools: requests[0]?.tools ?? []
  }
})

describe("Mastra agent", () => {
  it.effect("receives the tools of all pages with their schemas", () =>
    Effect.gen(function* () {
      const { tools } = yield* outcomeOf("echo")
      assert.lengthOf(tools, 7)
      const [echo] = tools
      assert.deepInclude(echo, { name: "echo", description: "Tool echo" })
      assert.nestedPropertyVal(echo, "inputSchema.properties.text.type", "string")
      assert.nestedPropertyVal(echo, "inputSchema.required[0]", "text")
    })
  )

  it.effect("receives text, and its program the whole result", () =>
    Effect.gen(function* () {
      const { output, result } = yield* outcomeOf("echo", { text: "hello" })
      assert.deepStrictEqual(output, { type: "text", value: "hello" })
      assert.deepStrictEqual(result, { content: [{ type: "text", text: "hello" }], _meta: { "x/y": 1 } })
    })
  )

  it.effect("receives images", () =>
    Effect.gen(function* () {
      const { output } = yield* outcomeOf("paint")
      assert.deepStrictEqual(output, {
        type: "content",
        value: [{ type: "file", mediaType: "image/png", data: { type: "data", data: dot } }]
      })
    })
  )

  it.effect("receives structured results", () =>
    Effect.gen(function* () {
      const { output, result } = yield* outcomeOf("measure")
      assert.deepStrictEqual(output, { type: "text", value: '{"width":3}' })
      assert.deepInclude(result, { structuredContent: { width: 3 } })
    })
  )

  it.effect("receives the message of a failed tool", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* outcomeOf("break")).output, { type: "error-text", value: "it broke" })
    })
  )

  it.effect("receives the message of a rejecting peer", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* outcomeOf("refuse")).output, { type: "error-text", value: "no such screw" })
    })
  )

  it.effect("receives the message of the schema for invalid params", () =>
    Effect.gen(function* () {
      assert.include(JSON.stringify((yield* outcomeOf("echo", { text: [] })).output), "Tool input validation failed")
    })
  )

  it.effect("cancels a tool with the signal of its run", () =>
    Effect.gen(function* () {
      const { list, started: running, stopped } = yield* started
      const controller = giveUp()
      const { agent, requests } = calling(list, "wait")
      const run = agent.generate("go", { abortSignal: controller.signal }).catch(() => undefined)
      yield* running
      controller.abort()
      yield* stopped
      yield* Effect.promise(() => run)
      assert.lengthOf(requests, 1)
    })
  )

  it.effect("receives the tools of the moment of its run", () =>
    Effect.gen(function* () {
      const { list, server } = yield* started
      const { agent, requests } = calling(list, "late")
      yield* server.setTools([
        {
          definition: { name: "late", inputSchema: { type: "object" } },
          run: () => Effect.succeed({ content: [{ type: "text", text: "here" }] })
        }
      ])
      yield* Effect.promise(() => agent.generate("go"))
      assert.include(JSON.stringify(requests[1]?.prompt), '"here"')
    })
  )
})

describe("Mastra tool", () => {
  it.effect("has the hints of the tool and the name of its server", () =>
    Effect.gen(function* () {
      const { echo } = yield* Effect.promise((yield* started).list)
      assert.deepInclude(echo, {
        mcp: { annotations: { readOnlyHint: true }, _meta: { "vendor/hint": "fast" } },
        mcpMetadata: { serverName: "workshop", serverVersion: "1.0.0" }
      })
    })
  )

  it.effect("throws the result of a failed tool", () =>
    Effect.gen(function* () {
      const { client } = yield* started
      const error: unknown = yield* Effect.promise(async () =>
        (await listMastraTools(client))
          .find(({ id }) => id === "break")
          ?.execute({ text: "" })
          .catch((reason: unknown) => reason)
      )
      assert.instanceOf(error, McpToolError)
      assert.deepStrictEqual(error.result, { content: [{ type: "text", text: "it broke" }], isError: true })
    })
  )
})
