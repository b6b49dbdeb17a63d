import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { awaitTask, callAsTask } from "../../../../src/adapters/mcp/client/clientTasks.ts"
import type { RequestHandlers, SendRequest } from "../../../../src/adapters/mcp/client/mcpMessages.ts"
import type { InputAnswer } from "../../../../src/domain/model/InputRequest.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"

const result = { content: [{ type: "text", text: "done" }] }

/** A server that answers requests in this order, each by its method. */
const scripted = (script: ReadonlyArray<readonly [method: string, answer: JsonObject]>) => {
  const sent: Array<readonly [string, JsonObject]> = []
  /** The handlers of the requests. */
  const handled: Array<RequestHandlers | undefined> = []
  const left = [...script]
  const request: SendRequest = (method, params, handlers) =>
    Effect.suspend(() => {
      sent.push([method, params])
      handled.push(handlers)
      const [expected, answer = {}] = left.shift() ?? []
      assert.strictEqual(method, expected)
      return Effect.succeed(answer)
    })
  return { handled, request, sent }
}

const recordProgress = () => {
  const messages: Array<unknown> = []
  return { messages, handlers: { onProgress: ({ message }) => void messages.push(message) } as RequestHandlers }
}

describe("tasks of an MCP server", () => {
  it.effect("polls as often as the server wants until it can fetch the result (2025-11-25)", () =>
    Effect.gen(function* () {
      const task = { taskId: "t", status: "working", pollInterval: 5000 }
      const { request, sent } = scripted([
        ["tools/call", { task: { ...task, statusMessage: "one" } }],
        ["tasks/get", { ...task, statusMessage: "two" }],
        ["tasks/get", { taskId: "t", status: "completed" }],
        ["tasks/result", result]
      ])
      const { handlers, messages } = recordProgress()
      const calling = yield* Effect.forkChild(callAsTask(request, { name: "work" }, handlers))
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(sent.length, 1)
      yield* TestClock.adjust("6 seconds")
      assert.deepStrictEqual(yield* Fiber.join(calling), result)
      assert.deepStrictEqual(messages, ["one", "two"])
      assert.property(sent[0]?.[1], "task")
    })
  )

  it.effect("lets the handlers of a call follow its first and its last request, which may ask (2025-11-25)", () =>
    Effect.gen(function* () {
      const { handled, request, sent } = scripted([
        ["tools/call", { task: { taskId: "t", status: "working" } }],
        ["tasks/get", { taskId: "t", status: "input_required" }],
        ["tasks/result", result]
      ])
      const answer = () => Effect.succeed({ action: "decline" } as const)
      const handlers: RequestHandlers = { onProgress: () => undefined, responder: { modes: ["form"], answer } }
      const calling = yield* Effect.forkChild(callAsTask(request, { name: "work", arguments: { a: 1 } }, handlers))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(calling), result)
      assert.deepStrictEqual(handled, [handlers, undefined, handlers])
      assert.deepStrictEqual(sent, [
        ["tools/call", { name: "work", arguments: { a: 1 }, task: { ttl: 3_600_000 } }],
        ["tasks/get", { taskId: "t" }],
        ["tasks/result", { taskId: "t" }]
      ])
    })
  )

  it.effect("polls as often as at first while the server names no other interval (2025-11-25)", () =>
    Effect.gen(function* () {
      const { request, sent } = scripted([
        ["tools/call", { task: { taskId: "t", status: "working", pollInterval: 5000 } }],
        ["tasks/get", { taskId: "t", status: "working" }],
        ["tasks/get", { taskId: "t", status: "working", pollInterval: 200 }],
        ["tasks/get", { taskId: "t", status: "completed" }],
        ["tasks/result", result]
      ])
      const calling = yield* Effect.forkChild(callAsTask(request, { name: "work" }, {}))
      for (const [millis, count] of [
        [9999, 2],
        [1, 3],
        [200, 5]
      ] as const) {
        yield* TestClock.adjust(millis)
        assert.lengthOf(sent, count)
      }
      yield* Fiber.join(calling)
    })
  )

  it.effect("fails when the server has cancelled the task (2025-11-25)", () =>
    Effect.gen(function* () {
      const { request } = scripted([["tools/call", { task: { taskId: "t", status: "cancelled" } }]])
      assert.include((yield* Effect.flip(callAsTask(request, { name: "work" }, {}))).message, "cancelled")
    })
  )

  it.effect("fetches the result at once when a task needs input (2025-11-25)", () =>
    Effect.gen(function* () {
      const { request } = scripted([
        ["tools/call", { task: { taskId: "t", status: "input_required" } }],
        ["tasks/result", result]
      ])
      assert.deepStrictEqual(yield* callAsTask(request, { name: "work" }, {}), result)
    })
  )

  for (const [era, call] of [
    ["2025-11-25", (request: SendRequest) => callAsTask(request, { name: "work" }, {})],
    ["2026-07-28", (request: SendRequest) => awaitTask(request, { taskId: "t", status: "working" }, {})]
  ] as const) {
    it.effect(`cancels the task of an interrupted call (${era})`, () =>
      Effect.gen(function* () {
        const sent: Array<string> = []
        const request: SendRequest = (method) =>
          Effect.sync(() => {
            sent.push(method)
            return method === "tools/call" ? { task: { taskId: "t", status: "working" } } : { status: "working" }
          })
        const calling = yield* Effect.forkChild(call(request))
        yield* TestClock.adjust("3 seconds")
        yield* Fiber.interrupt(calling)
        assert.strictEqual(sent.at(-1), "tasks/cancel")
        assert.strictEqual(sent.filter((method) => method === "tasks/cancel").length, 1)
      })
    )
  }

  it.effect("answers each question once, by an update (2026-07-28)", () =>
    Effect.gen(function* () {
      const question = { method: "elicitation/create", params: { message: "?", requestedSchema: { type: "object" } } }
      const asking = { taskId: "t", status: "input_required", inputRequests: { q: question } }
      const { request, sent } = scripted([
        ["tasks/update", {}],
        ["tasks/get", asking],
        ["tasks/get", { taskId: "t", status: "completed", result }]
      ])
      let requests = 0
      const answer = () =>
        Effect.sync((): InputAnswer => {
          requests++
          return { action: "accept", content: { a: 1 } }
        })
      const waiting = yield* Effect.forkChild(awaitTask(request, asking, { responder: { modes: ["form"], answer } }))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.join(waiting), result)
      assert.deepStrictEqual(sent[0], [
        "tasks/update",
        { taskId: "t", inputResponses: { q: { action: "accept", content: { a: 1 } } } }
      ])
      assert.strictEqual(requests, 1)
    })
  )

  it.effect("fails with the error of a failed task, and as cancelled by the server", () =>
    Effect.gen(function* () {
      const { request } = scripted([])
      const failed = { taskId: "t", status: "failed", error: { code: -32050, message: "broken" } }
      const failure = yield* Effect.flip(awaitTask(request, failed, {}))
      assert.deepStrictEqual([failure.code, failure.message], [-32050, "broken"])
      const cancelled = yield* Effect.flip(awaitTask(request, { taskId: "t", status: "cancelled" }, {}))
      assert.include(cancelled.message, "cancelled")
    })
  )

  it.effect.each([
    ["the time that the server wants", 5000, 5000],
    ["100 ms at least", 1, 100],
    ["100 ms exactly", 100, 100],
    ["30 s at most", 3_600_000, 30_000],
    ["30 s exactly", 30_000, 30_000],
    ["one second without a number", "often", 1000],
    ["one second by default", undefined, 1000]
  ] as const)("polls after %s", ([, wanted, expected]) =>
    Effect.gen(function* () {
      for (const era of ["legacy", "modern"] as const) {
        const name = era === "legacy" ? "pollInterval" : "pollIntervalMs"
        const working = { taskId: "t", status: "working", ...(wanted !== undefined && { [name]: wanted }) }
        const { request, sent } = scripted([
          ...(era === "legacy" ? [["tools/call", { task: working }] as const] : []),
          ["tasks/get", { ...working, status: "completed", result }],
          ["tasks/result", result]
        ])
        const calling = yield* Effect.forkChild(
          era === "legacy" ? callAsTask(request, { name: "work" }, {}) : awaitTask(request, working, {}),
          { startImmediately: true }
        )
        const polls = () => sent.filter(([method]) => method === "tasks/get").length
        yield* TestClock.adjust(expected - 1)
        assert.strictEqual(polls(), 0)
        yield* TestClock.adjust(1)
        assert.strictEqual(polls(), 1)
        yield* Fiber.join(calling)
      }
    })
  )

  it.effect("keeps the pause of the first reply where later ones state none (2025-11-25)", () =>
    Effect.gen(function* () {
      const { request, sent } = scripted([
        ["tools/call", { task: { taskId: "t", status: "working", pollInterval: 5000 } }],
        ["tasks/get", { taskId: "t", status: "working" }],
        ["tasks/get", { taskId: "t", status: "completed" }],
        ["tasks/result", result]
      ])
      const calling = yield* Effect.forkChild(callAsTask(request, { name: "work" }, {}))
      yield* TestClock.adjust("9999 millis")
      assert.strictEqual(sent.length, 2)
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(calling)
    })
  )

  it.effect("asks the server to keep the result for an hour (2025-11-25)", () =>
    Effect.gen(function* () {
      const { request, sent } = scripted([
        ["tools/call", { task: { taskId: "t", status: "completed" } }],
        ["tasks/result", result]
      ])
      yield* callAsTask(request, { name: "work" }, {})
      assert.deepStrictEqual(sent[0]?.[1]["task"], { ttl: 3_600_000 })
    })
  )

  it.effect("gives up a cancellation that the server does not answer for a second", () =>
    Effect.gen(function* () {
      const request: SendRequest = (method) =>
        method === "tasks/cancel" ? Effect.never : Effect.succeed({ status: "working" })
      const calling = yield* Effect.forkChild(awaitTask(request, { taskId: "t", status: "working" }, {}), {
        startImmediately: true
      })
      const ending = yield* Effect.forkChild(Fiber.interrupt(calling), { startImmediately: true })
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(ending.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(ending)
    })
  )

  it.effect("reports a message once, and again when it returns", () =>
    Effect.gen(function* () {
      const state = (statusMessage: string) => ({ taskId: "t", status: "working", statusMessage })
      const { request } = scripted([
        ["tasks/get", state("one")],
        ["tasks/get", state("two")],
        ["tasks/get", state("one")],
        ["tasks/get", { taskId: "t", status: "completed", result }]
      ])
      const { handlers, messages } = recordProgress()
      const waiting = yield* Effect.forkChild(awaitTask(request, state("one"), handlers))
      yield* TestClock.adjust("4 seconds")
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(messages, ["one", "two", "one"])
    })
  )
})
