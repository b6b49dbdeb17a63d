import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { RequestHandlers, SendRequest } from "../../../../src/adapters/mcp/client/mcpMessages.ts"
import { makeSessionRequests } from "../../../../src/adapters/mcp/client/sessionRequests.ts"
import { pipeNetwork } from "../../../../src/adapters/mcp/mcpTelemetry.ts"
import { type InputResponder, type McpProgress, McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import type { InputAnswer, InputRequest } from "../../../../src/domain/model/InputRequest.ts"

const done = { content: [{ type: "text", text: "done" }] }
const params = { path: "a", deep: { list: [1] } }

/** A server that gives these answers in turn, the last one to all others, and what it receives. */
const answering = Effect.fnUntraced(function* (...answers: ReadonlyArray<JsonObject | McpSessionError>) {
  const sent: Array<{ readonly method: string; readonly params: JsonObject; readonly handlers?: RequestHandlers }> = []
  const request: SendRequest = (method, given, handlers) =>
    Effect.suspend(() => {
      sent.push({ method, params: given, ...(handlers !== undefined && { handlers }) })
      const answer = answers[sent.length - 1] ?? answers.at(-1) ?? {}
      return answer instanceof McpSessionError ? Effect.fail(answer) : Effect.succeed(answer)
    })
  const connection = { network: pipeNetwork, version: "2025-11-25" }
  return { sent, session: yield* makeSessionRequests(request, true, connection) }
})

/** A user who gives these answers in turn, the last one to all others, and the questions. */
const user = (modes: InputResponder["modes"], ...actions: ReadonlyArray<InputAnswer["action"]>) => {
  const asked: Array<InputRequest> = []
  const responder: InputResponder = {
    modes,
    answer: (question) =>
      Effect.sync(() => {
        asked.push(question)
        return { action: actions[asked.length - 1] ?? actions.at(-1) ?? "cancel" }
      })
  }
  return { asked, responder }
}

const pageOf = (url: string) => ({ mode: "url", message: `open ${url}`, url })
const wants = (data: JsonObject | undefined) =>
  new McpSessionError({ reason: "protocol", code: -32_042, message: "open a page first", ...(data && { data }) })
const [first, second] = [pageOf("https://x/1"), pageOf("https://x/2")]

describe("a call of a tool at an MCP server", () => {
  it.effect("has its name, its arguments and the responder of the caller", () =>
    Effect.gen(function* () {
      const { sent, session } = yield* answering(done)
      const { responder } = user(["form"], "accept")
      assert.deepStrictEqual<unknown>(yield* session.callTool("work", params, { responder }), done)
      const [call] = sent
      assert.lengthOf(sent, 1)
      assert.deepStrictEqual<unknown>([call?.method, call?.params], ["tools/call", { name: "work", arguments: params }])
      assert.strictEqual(call?.handlers?.responder, responder)
      assert.isUndefined(call?.handlers?.onProgress)
    })
  )

  it.effect("reports its progress with all that is known", () =>
    Effect.gen(function* () {
      const { sent, session } = yield* answering(done)
      const steps: Array<McpProgress> = []
      yield* session.callTool("work", params, { onProgress: (step) => Effect.sync(() => void steps.push(step)) })
      const report = sent[0]?.handlers?.onProgress ?? assert.fail()
      report({ progress: 1, total: 2, message: "half", progressToken: 7 })
      report({ progress: 2, total: "2", message: 3 })
      report({ progress: "3" })
      yield* Effect.yieldNow
      assert.deepStrictEqual<unknown>(steps, [{ progress: 1, total: 2, message: "half" }, { progress: 2 }])
    })
  )
})

describe("a call whose MCP server wants pages to be opened first", () => {
  it.effect("is sent again unchanged once the user has opened them in turn", () =>
    Effect.gen(function* () {
      const { sent, session } = yield* answering(wants({ elicitations: [first, second] }), done)
      const { asked, responder } = user(["url"], "accept")
      const onProgress = () => Effect.void
      assert.deepStrictEqual<unknown>(yield* session.callTool("work", params, { responder, onProgress }), done)
      assert.deepStrictEqual<unknown>(asked, [first, second])
      assert.lengthOf(sent, 2)
      assert.deepStrictEqual(sent[1], sent[0])
    })
  )

  it.effect("opens other pages in up to three rounds, and then fails", () =>
    Effect.gen(function* () {
      const rounds = [1, 2, 3, 4].map((round) => wants({ elicitations: [pageOf(`https://x/${round}`)] }))
      for (const [count, outcome] of [
        [3, Result.succeed(done)],
        [4, "failure"]
      ] as const) {
        const { sent, session } = yield* answering(...rounds.slice(0, count), done)
        const { asked, responder } = user(["url"], "accept")
        const result = yield* Effect.result(session.callTool("work", params, { responder }))
        if (outcome === "failure") assert.strictEqual(Result.isFailure(result) && result.failure.code, -32_042)
        else assert.deepStrictEqual<unknown>(result, outcome)
        assert.deepStrictEqual([asked.length, sent.length], [3, 4])
      }
    })
  )

  it.effect.each<readonly [string, ReturnType<typeof user> | undefined, JsonObject | undefined, number]>([
    ["no responder", undefined, { elicitations: [first] }, 0],
    ["a responder of forms only", user(["form"], "accept"), { elicitations: [first] }, 0],
    ["a user who declines", user(["url"], "decline"), { elicitations: [first, second] }, 1],
    ["a user who closes the second one", user(["url"], "accept", "cancel"), { elicitations: [first, second] }, 2],
    ["a malformed page", user(["url"], "accept"), { elicitations: [first, { mode: "url", url: "file:///etc" }] }, 1],
    ["no pages", user(["url"], "accept"), { elicitations: [] }, 0],
    ["no list of pages", user(["url"], "accept"), { elicitations: first }, 0],
    ["no data", user(["url"], "accept"), undefined, 0]
  ])("fails without another attempt with %s", ([, given, data, count]) =>
    Effect.gen(function* () {
      const { sent, session } = yield* answering(wants(data), done)
      const options = given === undefined ? {} : { responder: given.responder }
      const { code, message } = yield* Effect.flip(session.callTool("work", params, options))
      assert.deepStrictEqual([code, message, sent.length], [-32_042, "open a page first", 1])
      assert.lengthOf(given?.asked ?? [], count)
    })
  )

  it.effect("is not repeated after another error", () =>
    Effect.gen(function* () {
      const other = new McpSessionError({
        reason: "protocol",
        code: -32_603,
        message: "x",
        data: { elicitations: [first] }
      })
      const { sent, session } = yield* answering(other, done)
      const { asked, responder } = user(["url"], "accept")
      yield* Effect.flip(session.callTool("work", params, { responder }))
      assert.deepStrictEqual([asked.length, sent.length], [0, 1])
    })
  )
})

describe("a tool that an MCP server lists", () => {
  const listing = (taskSupport?: string) => ({
    tools: [{ name: "work", ...(taskSupport !== undefined && { execution: { taskSupport } }) }, { name: "other" }]
  })
  const task = { task: { taskId: "t", status: "completed" } }

  it.effect("is called as a task with its handlers where it requires that", () =>
    Effect.gen(function* () {
      const { sent, session } = yield* answering(listing("required"), task, done)
      yield* session.listTools()
      const { responder } = user(["form"], "accept")
      const onProgress = () => Effect.void
      assert.deepStrictEqual<unknown>(yield* session.callTool("work", params, { responder, onProgress }), done)
      assert.deepStrictEqual(
        sent
          .slice(1)
          .map(({ handlers, method }) => [
            method,
            handlers?.responder === responder,
            handlers?.onProgress !== undefined
          ]),
        [
          ["tools/call", true, true],
          ["tasks/result", true, true]
        ]
      )
      assert.deepStrictEqual<unknown>(sent[1]?.params["arguments"], params)
      assert.property(sent[1]?.params, "task")
    })
  )

  it.effect("opens pages that the call as a task wants first", () =>
    Effect.gen(function* () {
      const { sent, session } = yield* answering(listing("required"), wants({ elicitations: [first] }), task, done)
      yield* session.listTools()
      const { asked, responder } = user(["url"], "accept")
      assert.deepStrictEqual<unknown>(yield* session.callTool("work", params, { responder }), done)
      assert.lengthOf(asked, 1)
      assert.deepStrictEqual(
        sent.map(({ method }) => method),
        ["tools/list", "tools/call", "tools/call", "tasks/result"]
      )
    })
  )

  it.effect.each([["optional"], ["forbidden"], [undefined]] as const)(
    "is called plainly once its support of tasks is %s in a later listing",
    ([support]) =>
      Effect.gen(function* () {
        const { sent, session } = yield* answering(listing("required"), listing(support), done)
        yield* session.listTools()
        yield* session.listTools()
        yield* session.callTool("work", params)
        assert.deepStrictEqual<unknown>(sent.at(-1)?.params, { name: "work", arguments: params })
      })
  )

  it.effect("does not change how the others are called", () =>
    Effect.gen(function* () {
      const { sent, session } = yield* answering(listing("required"), done)
      yield* session.listTools()
      yield* session.callTool("other", params)
      assert.deepStrictEqual<unknown>(sent.at(-1)?.params, { name: "other", arguments: params })
    })
  )
})

describe("a list of an MCP server", () => {
  it.effect.each(["tools", "resources"] as const)("is requested page by page: %s", (name) =>
    Effect.gen(function* () {
      const items = [{ name: "a" }]
      const { sent, session } = yield* answering({ [name]: items, nextCursor: "2" }, { [name]: [] })
      const list = name === "tools" ? session.listTools : session.listResources
      assert.deepStrictEqual<unknown>(yield* list(), { items, nextCursor: "2" })
      assert.deepStrictEqual<unknown>(yield* list("2"), { items: [], nextCursor: undefined })
      assert.deepStrictEqual<unknown>(
        sent.map(({ method, params: given }) => [method, given]),
        [
          [`${name}/list`, {}],
          [`${name}/list`, { cursor: "2" }]
        ]
      )
    })
  )
})

describe("a request that passes through to an MCP server", () => {
  it.effect("has its method and parameters, and gives the result as it is", () =>
    Effect.gen(function* () {
      const answer = { messages: [], _meta: { own: 1 } }
      const { sent, session } = yield* answering(answer)
      assert.deepStrictEqual<unknown>(yield* session.request("prompts/get", { name: "greet" }), answer)
      assert.deepStrictEqual<unknown>(sent, [{ method: "prompts/get", params: { name: "greet" } }])
    })
  )

  it.effect("reads one content as a list, and fails without contents", () =>
    Effect.gen(function* () {
      const content = { uri: "a://b", text: "T" }
      const { sent, session } = yield* answering({ contents: content }, { contents: "T" })
      assert.deepStrictEqual<unknown>(yield* session.readResource("a://b"), [content])
      const { message, reason } = yield* Effect.flip(session.readResource("a://b"))
      assert.deepStrictEqual([reason, message], ["protocol", "the response has no contents"])
      assert.deepStrictEqual<unknown>(sent[0], { method: "resources/read", params: { uri: "a://b" } })
    })
  )
})
