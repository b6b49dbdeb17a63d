import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { awaitTask, callAsTask } from "../../../../src/adapters/mcp/client/clientTasks.ts"
import type { RequestHandlers, SendRequest } from "../../../../src/adapters/mcp/client/SendRequest.ts"
import type { InputAnswer } from "../../../../src/domain/model/InputRequest.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"

const result = { content: [{ type: "text", text: "done" }] }

/** A server that answers requests in this order, each by its method. */
const scripted = (script: ReadonlyArray<readonly [method: string, answer: JsonObject]>) => {
  const sent: Array<readonly [string, JsonObject]> = []
  const left = [...script]
  const request: SendRequest = (method, params) =>
    Effect.suspend(() => {
      sent.push([method, params])
      const [expected, answer = {}] = left.shift() ?? []
      assert.strictEqual(method, expected)
      return Effect.succeed(answer)
    })
  return { request, sent }
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
      let asked = 0
      const answer = () =>
        Effect.sync((): InputAnswer => {
          asked++
          return { action: "accept", content: { a: 1 } }
        })
      const waiting = yield* Effect.forkChild(awaitTask(request, asking, { responder: { modes: ["form"], answer } }))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.join(waiting), result)
      assert.deepStrictEqual(sent[0], [
        "tasks/update",
        { taskId: "t", inputResponses: { q: { action: "accept", content: { a: 1 } } } }
      ])
      assert.strictEqual(asked, 1)
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
})
