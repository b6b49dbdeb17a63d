import { assert, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { Deferred, Effect, Fiber } from "effect"
import { z } from "zod"
import { publishHttp } from "../../../../src/adapters/mcp/publish/http/publishHttp.ts"
import {
  type McpCallOptions,
  McpSessionError,
  type McpSession,
  type McpTask
} from "../../../../src/application/ports/McpSession.ts"
import { makeToolsSession } from "../../../../src/application/shared/toolsOnlySession.ts"
import { asObject, type JsonObject, parseJson } from "../../../../src/domain/json.ts"

const anyObject = z.looseObject({})
const form = { type: "object", properties: { name: { type: "string" } } }

/** A session whose tool `work` runs until `done`, after it asks for a name where its arguments say so. */
const makeSession = Effect.gen(function* () {
  const done = yield* Deferred.make<void>()
  const started: Array<string> = []
  const cancelled: Array<string> = []
  const toTask = (id: string, { requests, more }: JsonObject, { onProgress, responder }: McpCallOptions): McpTask => ({
    id,
    createdAt: Date.UTC(2026, 10, 26),
    result: Effect.gen(function* () {
      yield* onProgress?.({ progress: 1, total: 2, message: "half" }) ?? Effect.void
      // As a Computer does, which asks only those that announce it.
      const canAsk = requests === true && responder?.modes.includes("form") === true
      const answer = canAsk && (yield* responder.answer({ mode: "form", message: "who?", schema: form }))
      yield* Effect.raceFirst(
        Deferred.await(done),
        Effect.repeat(Effect.sleep(5), { until: () => cancelled.length > 0 })
      )
      return { content: [{ type: "text", text: JSON.stringify(answer) }], ...asObject(more) }
    }),
    cancel: Effect.sync(() => void cancelled.push(id))
  })
  const session: McpSession = {
    ...makeToolsSession({
      name: "s",
      tools: [
        { definition: { name: "work", inputSchema: { type: "object" } }, run: () => Effect.never },
        { definition: { name: "quick", inputSchema: { type: "object" } }, run: () => Effect.succeed({ content: [] }) }
      ]
    }),
    tasks: {
      start: (name, args, options = {}) =>
        Effect.sync(() => {
          if (name !== "work") return undefined
          started.push(name)
          return toTask(`t${started.length}`, args, options)
        }),
      find: (id, options = {}) =>
        id === "earlier"
          ? Effect.succeed(toTask(id, {}, options))
          : Effect.fail(new McpSessionError({ reason: "protocol", code: -32602, message: `no task ${id}` }))
    }
  }
  const { url } = yield* Effect.orDie(publishHttp(session, { port: 0, token: "allowAll" }))
  return { url, finish: Deferred.succeed(done, undefined), started, cancelled }
})

/** A client of the v1 SDK, as a function that sends requests. */
const connectLegacy = Effect.fnUntraced(function* (url: string) {
  const client = new Client({ name: "c", version: "1" }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Ada" } }))
  yield* Effect.acquireRelease(
    Effect.promise(() => client.connect(new StreamableHTTPClientTransport(new URL(url)) as Transport)),
    () => Effect.promise(() => client.close())
  )
  const request = (method: string, params: JsonObject) =>
    Effect.tryPromise({
      try: (signal) => client.request({ method, params: { ...params } }, anyObject, { signal }),
      catch: (error) => error as { readonly code: number; readonly message: string }
    })
  return { client, request }
})

/** Sends a request of MCP 2026-07-28 and gives its result or error. */
const modernRequest = (url: string, method: string, params: JsonObject, extensions: JsonObject = {}) =>
  Effect.promise(async (signal) => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} }, extensions }
    }
    const name = params["name"] ?? params["taskId"]
    const response = await fetch(url, {
      method: "POST",
      signal,
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        ...(typeof name === "string" && { "Mcp-Name": name })
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } })
    })
    const text = await response.text()
    const messages = text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []))
    const last = asObject(parseJson(messages.at(-1) ?? text))
    return asObject(last["result"] ?? last["error"])
  })

const tasks = { "io.modelcontextprotocol/tasks": {} }

describe("published tasks", () => {
  it.live("gives structured content that is a list as the client accepts it (2025-11-25)", () =>
    Effect.gen(function* () {
      const { finish, url } = yield* makeSession
      const { client, request } = yield* connectLegacy(url)
      const args = { more: { structuredContent: [1] } }
      const { task } = yield* request("tools/call", { name: "work", arguments: args, task: {} })
      yield* finish
      const params = { taskId: asObject(task)["taskId"] }
      const { structuredContent } = yield* Effect.promise(() =>
        client.request({ method: "tasks/result", params }, CallToolResultSchema)
      )
      assert.deepStrictEqual(structuredContent, { result: [1] })
    })
  )

  it.live("starts by request, reports its state, and gives its result (2025-11-25)", () =>
    Effect.gen(function* () {
      const { finish, url } = yield* makeSession
      const { client, request } = yield* connectLegacy(url)
      assert.deepStrictEqual(client.getServerCapabilities()?.tasks, { cancel: {}, requests: { tools: { call: {} } } })
      const { task } = yield* request("tools/call", { name: "work", arguments: {}, task: { ttl: 1000 } })
      assert.deepInclude(asObject(task), { taskId: "t1", status: "working", createdAt: "2026-11-26T00:00:00.000Z" })
      const working = yield* Effect.repeat(request("tasks/get", { taskId: "t1" }), {
        until: ({ statusMessage }) => statusMessage !== undefined
      })
      assert.strictEqual(working["statusMessage"], "half: 1 of 2")
      yield* finish
      const result = yield* request("tasks/result", { taskId: "t1" })
      assert.deepStrictEqual(result["_meta"], { "io.modelcontextprotocol/related-task": { taskId: "t1" } })
      assert.strictEqual((yield* request("tasks/get", { taskId: "t1" }))["status"], "completed")
    })
  )

  it.live("asks its question while a client waits for the result (2025-11-25)", () =>
    Effect.gen(function* () {
      const { finish, url } = yield* makeSession
      const { request } = yield* connectLegacy(url)
      yield* request("tools/call", { name: "work", arguments: { requests: true }, task: {} })
      yield* Effect.repeat(request("tasks/get", { taskId: "t1" }), {
        until: ({ status }) => status === "input_required"
      })
      yield* finish
      const { content } = yield* request("tasks/result", { taskId: "t1" })
      assert.include(JSON.stringify(content), "Ada")
    })
  )

  it.live("cancels once, and rejects a cancellation after the end (2025-11-25)", () =>
    Effect.gen(function* () {
      const { cancelled, url } = yield* makeSession
      const { request } = yield* connectLegacy(url)
      yield* request("tools/call", { name: "work", arguments: {}, task: {} })
      assert.strictEqual((yield* request("tasks/cancel", { taskId: "t1" }))["status"], "cancelled")
      const again = yield* Effect.flip(request("tasks/cancel", { taskId: "t1" }))
      assert.strictEqual(again.code, -32602)
      assert.deepStrictEqual(cancelled, ["t1"])
    })
  )

  it.live("finds the task of an earlier process by its id, and rejects an unknown one", () =>
    Effect.gen(function* () {
      const { finish, started, url } = yield* makeSession
      const { request } = yield* connectLegacy(url)
      yield* finish
      assert.isDefined((yield* request("tasks/result", { taskId: "earlier" }))["content"])
      assert.strictEqual((yield* Effect.flip(request("tasks/get", { taskId: "never" }))).code, -32602)
      assert.strictEqual((yield* modernRequest(url, "tasks/get", { taskId: "never" }, tasks))["code"], -32602)
      assert.deepStrictEqual(started, [])
    })
  )

  it.live("rejects a tool that runs at once only, and runs it without a task", () =>
    Effect.gen(function* () {
      const { url } = yield* makeSession
      const { request } = yield* connectLegacy(url)
      const failure = yield* Effect.flip(request("tools/call", { name: "quick", arguments: {}, task: {} }))
      assert.strictEqual(failure.code, -32601)
      const result = yield* modernRequest(url, "tools/call", { name: "quick", arguments: {} }, tasks)
      assert.deepInclude(result, { content: [], resultType: "complete" })
    })
  )

  it.live(
    "makes a task of a call that asks, for a client with the extension, and answers it by an update (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const { finish, url } = yield* makeSession
        const call = { name: "work", arguments: { requests: true } }
        const created = yield* modernRequest(url, "tools/call", call, tasks)
        assert.deepInclude(created, { resultType: "task", taskId: "t1", status: "input_required" })
        const { inputRequests } = yield* modernRequest(url, "tasks/get", { taskId: "t1" }, tasks)
        const [question = ""] = Object.keys(asObject(inputRequests))
        const inputResponses = { [question]: { action: "accept", content: { name: "Ada" } } }
        yield* modernRequest(url, "tasks/update", { taskId: "t1", inputResponses }, tasks)
        yield* finish
        const ended = yield* Effect.repeat(modernRequest(url, "tasks/get", { taskId: "t1" }, tasks), {
          until: ({ status }) => status === "completed"
        })
        assert.include(JSON.stringify(asObject(ended["result"])["content"]), "Ada")
      })
  )

  it.live("ends with the result of a quick call, and cancels with an abandoned request (2026-07-28)", () =>
    Effect.gen(function* () {
      const { cancelled, finish, started, url } = yield* makeSession
      const call = modernRequest(url, "tools/call", { name: "work", arguments: {} }, tasks)
      const abandoned = yield* Effect.forkChild(call)
      yield* Effect.repeat(Effect.sleep(5), { until: () => started.length === 1 })
      yield* Fiber.interrupt(abandoned)
      yield* Effect.repeat(Effect.sleep(5), { until: () => cancelled.length === 1 })
      yield* finish
      assert.deepInclude(yield* call, { resultType: "complete", content: [{ type: "text", text: "false" }] })
    })
  )
})
