import { assert, describe, it } from "@effect/vitest"
import type { JSONRPCMessage, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Deferred, Effect, Fiber, PubSub } from "effect"
import { TestClock } from "effect/testing"
import { makeModernClient } from "../../../../../src/adapters/mcp/client/modern/ModernClient.ts"
import type { InputResponder } from "../../../../../src/application/ports/McpSession.ts"
import { asObject, type JsonObject } from "../../../../../src/domain/json.ts"

const done = { content: [{ type: "text", text: "done" }] }
const form = { method: "elicitation/create", params: { message: "who?", requestedSchema: { type: "object" } } }
const accepted = { action: "accept", content: { name: "Ada" } } as const
const responder: InputResponder = { modes: ["form"], answer: () => Effect.succeed(accepted) }

interface Sent {
  readonly id: string
  readonly method: string
  readonly params: JsonObject
}

/**
 * A client whose server gives these results in turn, none for `undefined`, or whose requests fail; and the requests without
 * their common metadata.
 */
const answering = Effect.fnUntraced(function* (...results: ReadonlyArray<JsonObject | Error | undefined>) {
  const sent: Array<Sent> = []
  const signals: Array<AbortSignal | undefined> = []
  const metadata: Array<JsonObject> = []
  const transport: Partial<StreamableHTTPClientTransport> = {
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send: (message, options) => {
      const { id, method, params } = message as unknown as Sent
      const { _meta, ...given } = params
      metadata.push(asObject(_meta))
      sent.push({ id, method, params: given })
      signals.push(options?.requestSignal)
      const result = results[sent.length - 1]
      if (result instanceof Error) return Promise.reject(result)
      if (result !== undefined) receive({ jsonrpc: "2.0", id, ...("error" in result ? result : { result }) })
      return Promise.resolve()
    }
  }
  const client = yield* makeModernClient(transport as StreamableHTTPClientTransport)
  const receive = (message: JsonObject) => transport.onmessage?.(message as unknown as JSONRPCMessage)
  const progress = (progressToken: unknown, step: JsonObject) =>
    receive({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, ...step } })
  return { client, metadata, progress, receive, sent, signals }
})

const call = { name: "work", arguments: { path: "a" } }
const requests = (sent: ReadonlyArray<Sent>) => sent.map(({ method, params }) => [method, params])

describe("a request to a server of MCP 2026-07-28", () => {
  it.effect("states its revision, the client and what it answers, beside its own metadata", () =>
    Effect.gen(function* () {
      const { client, metadata } = yield* answering(done, done)
      yield* client.request("tools/call", { ...call, _meta: { traceparent: "00-1" } }, { onProgress: () => undefined })
      yield* client.request("prompts/get", {})
      const [first = {}, second = {}] = metadata
      assert.deepInclude(first, { traceparent: "00-1", "io.modelcontextprotocol/protocolVersion": "2026-07-28" })
      const capabilities = asObject(first["io.modelcontextprotocol/clientCapabilities"])
      assert.deepStrictEqual<unknown>(capabilities["elicitation"], { form: {}, url: {} })
      assert.property(capabilities["extensions"], "io.modelcontextprotocol/tasks")
      const { progressToken, traceparent, ...common } = first
      assert.isDefined(progressToken)
      assert.strictEqual(traceparent, "00-1")
      assert.deepStrictEqual(second, common)
    })
  )

  it.effect("receives the progress of its token only, until its response", () =>
    Effect.gen(function* () {
      const { client, progress, receive, sent } = yield* answering()
      const steps: Array<readonly [string, unknown]> = []
      const start = (name: string) =>
        Effect.forkChild(
          client.request("tools/call", { name }, { onProgress: (step) => void steps.push([name, step["progress"]]) }),
          { startImmediately: true }
        )
      const one = yield* start("one")
      yield* start("other")
      const [first, second] = sent.map(({ id }) => id)
      progress(first, { progress: 1 })
      progress(second, { progress: 2 })
      progress("unknown", { progress: 3 })
      receive({ jsonrpc: "2.0", id: first, result: done })
      assert.deepStrictEqual<unknown>(yield* Fiber.join(one), done)
      progress(first, { progress: 4 })
      assert.deepStrictEqual(steps, [
        ["one", 1],
        ["other", 2]
      ])
    })
  )

  it.effect("is repeated with the answers, and the latest state alone", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* answering(
        { resultType: "input_required", requestState: "s1", inputRequests: { a: form, b: form } },
        { resultType: "input_required", inputRequests: { c: form } },
        { resultType: "complete", ...done }
      )
      assert.deepStrictEqual<unknown>(yield* client.request("tools/call", call, { responder }), done)
      assert.deepStrictEqual<unknown>(requests(sent), [
        ["tools/call", call],
        ["tools/call", { ...call, requestState: "s1", inputResponses: { a: accepted, b: accepted } }],
        ["tools/call", { ...call, inputResponses: { c: accepted } }]
      ])
    })
  )

  it.effect("keeps its progress over its rounds", () =>
    Effect.gen(function* () {
      const { client, progress, sent } = yield* answering({ resultType: "input_required", inputRequests: { a: form } })
      const steps: Array<unknown> = []
      const onProgress = ({ progress: step }: JsonObject) => void steps.push(step)
      yield* Effect.forkChild(client.request("tools/call", call, { onProgress, responder }), { startImmediately: true })
      yield* TestClock.adjust(0)
      assert.lengthOf(sent, 2)
      progress(sent[1]?.id, { progress: 7 })
      assert.deepStrictEqual(steps, [7])
    })
  )

  it.effect("declines the questions where no one answers", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* answering({ resultType: "input_required", inputRequests: { a: form } }, done)
      yield* client.request("tools/call", call)
      assert.deepStrictEqual<unknown>(sent[1]?.params["inputResponses"], { a: { action: "decline" } })
    })
  )

  it.effect("is repeated after a quarter of a second without a question, ten times at most", () =>
    Effect.gen(function* () {
      const postponed = { resultType: "input_required", requestState: "s" }
      for (const count of [9, 10]) {
        const { client, sent } = yield* answering(...Array.from({ length: count }, () => postponed), done)
        const asking = yield* Effect.forkChild(Effect.result(client.request("tools/call", call)), {
          startImmediately: true
        })
        yield* TestClock.adjust("249 millis")
        assert.lengthOf(sent, 1)
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual<unknown>(requests(sent), [
          ["tools/call", call],
          ["tools/call", { ...call, requestState: "s" }]
        ])
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* Fiber.join(asking))._tag, count === 9 ? "Success" : "Failure")
        assert.lengthOf(sent, 10)
      }
    })
  )

  it.effect("follows the task that the server makes of it, with its progress and its questions", () =>
    Effect.gen(function* () {
      const task = { taskId: "t", pollIntervalMs: 1000 }
      const { client, sent } = yield* answering(
        { ...task, resultType: "task", status: "working", statusMessage: "one" },
        { ...task, status: "input_required", inputRequests: { a: form } },
        {},
        { ...task, status: "completed", result: done }
      )
      const steps: Array<unknown> = []
      const onProgress = ({ message }: JsonObject) => void steps.push(message)
      const calling = yield* Effect.forkChild(client.request("tools/call", call, { onProgress, responder }))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual<unknown>(yield* Fiber.join(calling), done)
      assert.deepStrictEqual(steps, ["one"])
      assert.deepStrictEqual<unknown>(requests(sent), [
        ["tools/call", call],
        ["tasks/get", { taskId: "t" }],
        ["tasks/update", { taskId: "t", inputResponses: { a: accepted } }],
        ["tasks/get", { taskId: "t" }]
      ])
    })
  )

  it.effect.each([
    [{ resultType: "other" }, "the response is not an MCP result"],
    [{ resultType: "input_required" }, "MCP server postponed its response without a state"]
  ] as const)("fails for the result %j", ([result, message]) =>
    Effect.gen(function* () {
      const { client } = yield* answering(result)
      const failure = yield* Effect.flip(client.request("tools/call", call))
      assert.deepStrictEqual([failure.reason, failure.message], ["protocol", message])
    })
  )
})

const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })
const unknownMethod = { error: { code: -32_601, message: "no such method" } }

describe("the connection to a server of MCP 2026-07-28", () => {
  it.effect.each<readonly [string, JsonObject | Error, boolean]>([
    ["stays while the server answers", {}, false],
    ["stays while the server answers with an error", unknownMethod, false],
    ["is lost when the server answers nothing", reset, true],
    ["is lost when the server cannot be reached", new Error("fetch failed"), true]
  ])("%s, after a request without a response", ([, answer, isLost]) =>
    Effect.gen(function* () {
      const { client, sent } = yield* answering(undefined, reset, answer, done)
      const pending = yield* Effect.forkChild(Effect.flip(client.request("tools/call", call)), {
        startImmediately: true
      })
      const { message, reason } = yield* Effect.flip(client.request("prompts/get", {}))
      assert.deepStrictEqual([reason, message], ["closed", "no response received: connection reset"])
      yield* Effect.repeat(Effect.yieldNow, { until: () => sent.length === 3 })
      assert.strictEqual(sent[2]?.method, "server/discover")
      if (!isLost) {
        yield* TestClock.adjust("1 minute")
        assert.isUndefined(pending.pollUnsafe())
        assert.deepStrictEqual<unknown>(yield* client.request("tools/call", call), done)
        return
      }
      const failure = yield* Fiber.join(pending)
      assert.strictEqual(failure.reason, "closed")
      assert.include(failure.message, "MCP server does not respond")
      assert.strictEqual(yield* Deferred.await(client.lost), failure)
      client.markLost("another reason")
      assert.deepStrictEqual(yield* Effect.flip(client.request("tools/call", call)), failure)
      assert.lengthOf(sent, 3)
    })
  )

  it.effect("is not checked after an error of the server", () =>
    Effect.gen(function* () {
      const data = { hint: 1 }
      const { client, sent } = yield* answering({ error: { code: -32_050, message: "broken", data } })
      const failure = yield* Effect.flip(client.request("tools/call", call))
      assert.deepInclude(failure, { reason: "protocol", code: -32_050, message: "broken", data })
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(sent, 1)
    })
  )

  it.effect("cancels an interrupted request, which receives nothing more", () =>
    Effect.gen(function* () {
      const { client, progress, receive, sent, signals } = yield* answering()
      let steps = 0
      const onProgress = () => void steps++
      const calling = yield* Effect.forkChild(client.request("tools/call", call, { onProgress }), {
        startImmediately: true
      })
      const [{ id } = assert.fail()] = sent
      progress(id, { progress: 1 })
      assert.deepStrictEqual([steps, signals[0]?.aborted], [1, false])
      yield* Fiber.interrupt(calling)
      progress(id, { progress: 2 })
      receive({ jsonrpc: "2.0", id, result: done })
      assert.deepStrictEqual([steps, signals[0]?.aborted], [1, true])
    })
  )

  it.effect("carries what the server logs", () =>
    Effect.gen(function* () {
      const { client, receive } = yield* answering()
      const logs = yield* PubSub.subscribe(client.logged)
      const params = { level: "warning", logger: "db", data: { slow: true } }
      receive({ jsonrpc: "2.0", method: "notifications/message", params })
      assert.deepStrictEqual<unknown>(yield* PubSub.take(logs), { _tag: "Logged", ...params })
    })
  )
})
