import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import {
  type InputResponder,
  type McpCallOptions,
  type McpChange,
  McpSessionError,
  type McpSession,
  type McpTask
} from "../../../../src/application/ports/McpSession.ts"
import type { InputAnswer, InputRequest } from "../../../../src/domain/model/InputRequest.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import { until } from "../../../until.ts"
import { type Era, type Host, hostKinds, listenToAll, nextOf, openHttpHost, publishAt } from "./hosts.ts"
import { liveWith } from "../../../testWith.ts"

const tasksExtension = "io.modelcontextprotocol/tasks"
const schema = { type: "object", properties: { name: { type: "string" } } }
const questions = {
  form: { mode: "form", message: "who?", schema },
  url: { mode: "url", message: "sign in", url: "https://a.example/" }
} as const satisfies Record<string, InputRequest>

/** What `elicitation/create` holds for each question. */
const encoded = {
  form: { message: "who?", requestedSchema: schema },
  url: { mode: "url", message: "sign in", url: "https://a.example/" }
}

const textOf = (value: unknown): JsonObject => ({ content: [{ type: "text", text: JSON.stringify(value) }] })

/**
 * A session whose tool `ask` asks the question that its arguments name, and whose tool `report` reports its argument
 * `progress`, and waits for `finish`. Tasks run the same tools.
 */
const makeWorld = Effect.gen(function* () {
  const server = yield* makeMemoryMcpServer({
    name: "world",
    capabilities: { prompts: true, completions: true },
    answer: (method) => Effect.succeed({ method }),
    resources: [{ definition: { uri: "test://one", name: "one" }, read: Effect.succeed([]) }]
  })
  const connected = yield* server.connect
  const finish = yield* Deferred.make<void>()
  const calls: Array<{ readonly by: string; readonly args: JsonObject; readonly modes: InputResponder["modes"] }> = []
  const cancelled: Array<string> = []
  const interrupted = yield* Queue.unbounded<string>()
  const begin = (by: string, args: JsonObject, { responder }: McpCallOptions) =>
    void calls.push({ by, args, modes: responder?.modes ?? [] })
  const run = (
    { kind, progress, structuredContent, waits = false }: JsonObject,
    { onProgress, responder }: McpCallOptions
  ) =>
    Effect.gen(function* () {
      if (typeof progress === "number") yield* onProgress?.({ progress, total: 9, message: "at it" }) ?? Effect.void
      if (waits === true) yield* Deferred.await(finish)
      if (structuredContent !== undefined) return { ...textOf("done"), structuredContent }
      if (typeof kind !== "string") return textOf("done")
      const question = questions[kind as keyof typeof questions]
      return textOf((yield* responder?.answer(question) ?? Effect.succeed(null)) as InputAnswer)
    }).pipe(Effect.onInterrupt(() => Queue.offer(interrupted, "call")))
  const toTask = (id: string, args: JsonObject, options: McpCallOptions): McpTask => ({
    id,
    createdAt: Date.UTC(2026, 10, 26),
    result: run(args, options),
    cancel: Effect.andThen(
      Effect.sync(() => void cancelled.push(id)),
      Deferred.succeed(finish, undefined)
    )
  })
  const withoutTasks: McpSession = {
    ...connected,
    callTool: (_, args, options = {}) =>
      Effect.suspend(() => {
        begin("call", args, options)
        return run(args, options)
      })
  }
  const session: McpSession = {
    ...withoutTasks,
    tasks: {
      start: (name, args, options = {}) =>
        Effect.sync(() => {
          if (name === "quick") return undefined
          begin("start", args, options)
          return toTask(`t${calls.length}`, args, options)
        }),
      find: (id, options = {}) =>
        Effect.suspend(() => {
          if (id === "unknown") {
            return Effect.fail(new McpSessionError({ reason: "protocol", code: -32602, message: "no such task" }))
          }
          begin("find", {}, options)
          return Effect.succeed(toTask(id, { waits: true }, options))
        })
    }
  }
  return {
    server,
    session,
    withoutTasks,
    calls,
    cancelled,
    interrupted,
    finish: Deferred.succeed(finish, undefined)
  }
})

/** A test with such a session. */
const inWorld = liveWith(makeWorld)

const resultOf = (response: JsonObject): JsonObject => asObject(response["result"])

const modesOf: ReadonlyArray<readonly [elicitation: JsonObject | undefined, InputResponder["modes"]]> = [
  [undefined, []],
  [{}, ["form"]],
  [{ form: {} }, ["form"]],
  [{ url: {} }, ["url"]],
  [{ form: {}, url: {} }, ["form", "url"]]
]
const capabilitiesFor = (elicitation: unknown, era: Era, supportsTasks = true): JsonObject => ({
  ...(elicitation !== undefined && { elicitation }),
  ...(era === "2026-07-28" && supportsTasks && { extensions: { [tasksExtension]: {} } })
})

/** How each era asks for a task. */
const startParams = (era: Era, args: JsonObject): JsonObject => ({
  name: "work",
  arguments: args,
  ...(era === "2025-11-25" && { task: {} })
})

describe.each(hostKinds)("a published session for a host of %s", (_, era, open) => {
  const isLegacy = era === "2025-11-25"

  inWorld("announces what the session offers, and no more", function* ({ session, withoutTasks }) {
    const offered = {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      completions: {},
      resources: { listChanged: true, subscribe: true }
    }
    const tasks = isLegacy
      ? { tasks: { cancel: {}, requests: { tools: { call: {} } } } }
      : { extensions: { [tasksExtension]: {} } }
    assert.deepStrictEqual(resultOf((yield* open(session)).handshake)["capabilities"], { ...offered, ...tasks })
    assert.deepStrictEqual(resultOf((yield* open(withoutTasks)).handshake)["capabilities"], offered)
  })

  it.live.each<[McpChange, string, JsonObject | undefined]>([
    [{ _tag: "ToolsChanged" }, "tools/list_changed", undefined],
    [{ _tag: "PromptsChanged" }, "prompts/list_changed", undefined],
    [{ _tag: "ResourcesChanged" }, "resources/list_changed", undefined],
    [{ _tag: "ResourceUpdated", uri: "test://one" }, "resources/updated", { uri: "test://one" }]
  ])("notifies of the change %j", ([change, kind, expected = {}]) =>
    Effect.gen(function* () {
      const { server, session } = yield* makeWorld
      const host = yield* open(session)
      yield* listenToAll(host, era, ["test://one"])
      if (!isLegacy) yield* nextOf(host, "notifications/subscriptions/acknowledged")
      yield* host.request("tools/list")
      yield* server.notify(change)
      const { method, params } = yield* Queue.take(host.received)
      const { _meta, ...content } = asObject(params)
      assert.deepStrictEqual([method, content], [`notifications/${kind}`, expected])
    })
  )

  it.live.each(modesOf)(
    "lets calls and tasks ask the questions of a host with elicitation %j",
    ([elicitation, modes]) =>
      Effect.gen(function* () {
        const { calls, session, withoutTasks } = yield* makeWorld
        const host = yield* open(session, capabilitiesFor(elicitation, era))
        const plain = yield* open(withoutTasks, capabilitiesFor(elicitation, era))
        yield* plain.request("tools/call", { name: "work", arguments: { a: 1 } })
        yield* host.request("tools/call", startParams(era, { b: 2 }))
        yield* host.request("tasks/get", { taskId: "got" })
        yield* Effect.forkChild(
          host.request(isLegacy ? "tasks/result" : "tasks/update", { taskId: "awaited", inputResponses: {} })
        )
        yield* Effect.repeat(Effect.yieldNow, { until: () => calls.length === 4 }).pipe(Effect.timeout("5 seconds"))
        assert.deepStrictEqual(calls, [
          { by: "call", args: { a: 1 }, modes },
          { by: "start", args: { b: 2 }, modes },
          { by: "find", args: {}, modes },
          { by: "find", args: {}, modes }
        ])
      })
  )

  const both = { form: {}, url: {} }
  const answers: ReadonlyArray<readonly [keyof typeof questions, answer: JsonObject, expected: JsonObject]> = [
    ["form", { action: "accept", content: { name: "Ada" } }, { action: "accept", content: { name: "Ada" } }],
    ["form", { action: "decline" }, { action: "decline" }],
    ["form", { action: "cancel", content: { name: "Ada" } }, { action: "cancel" }],
    ["url", { action: "accept" }, { action: "accept" }]
  ]

  it.live.each(answers)("asks the question of kind %s, and gives the call the answer %j", ([kind, answer, expected]) =>
    Effect.gen(function* () {
      const { withoutTasks } = yield* makeWorld
      const host = yield* open(withoutTasks, capabilitiesFor(both, era))
      const call = { name: "ask", arguments: { kind } }
      const calling = yield* Effect.forkChild(host.request("tools/call", call))
      if (isLegacy) {
        const { id, method, params } = yield* Queue.take(host.received)
        assert.deepStrictEqual([method, params], ["elicitation/create", encoded[kind]])
        yield* host.send({ id, result: answer })
        assert.deepStrictEqual(resultOf(yield* Fiber.join(calling))["content"], textOf(expected)["content"])
        return
      }
      const { inputRequests, requestState, resultType } = resultOf(yield* Fiber.join(calling))
      const [[id, asked] = ["", {}]] = Object.entries(asObject(inputRequests))
      assert.deepStrictEqual(
        [resultType, asked],
        ["input_required", { method: "elicitation/create", params: encoded[kind] }]
      )
      const again = yield* host.request("tools/call", { ...call, requestState, inputResponses: { [id]: answer } })
      assert.deepStrictEqual(resultOf(again)["content"], textOf(expected)["content"])
    })
  )

  inWorld(
    "sends the progress of each call under its own token, also beside others",
    function* ({ finish, session, withoutTasks }) {
      for (const [published, capabilities] of [
        [withoutTasks, {}],
        [withoutTasks, capabilitiesFor(both, era)],
        [session, capabilitiesFor(both, era)]
      ] as const) {
        const host = yield* open(published, capabilities)
        const tokens = [0, "seven", 8]
        yield* Effect.forEach(tokens, (progressToken, index) =>
          Effect.forkChild(
            host.request("tools/call", {
              name: "report",
              arguments: { progress: index + 1, waits: true },
              _meta: { progressToken }
            })
          )
        )
        const seen = [
          yield* nextOf(host, "notifications/progress"),
          yield* nextOf(host, "notifications/progress"),
          yield* nextOf(host, "notifications/progress")
        ].map(({ params }) => {
          const { _meta, ...content } = asObject(params)
          return content
        })
        assert.sameDeepMembers(
          seen,
          tokens.map((progressToken, index) => ({ progressToken, progress: index + 1, total: 9, message: "at it" }))
        )
      }
      yield* finish
    }
  )

  const members = isLegacy ? ["ttl", "pollInterval"] : ["ttlMs", "pollIntervalMs"]

  inWorld(
    "describes a task that it starts, finds and cancels in the words of its revision",
    function* ({ cancelled, session }) {
      const host = yield* open(session, capabilitiesFor({}, era))
      const started = resultOf(yield* host.request("tools/call", startParams(era, { kind: "form" })))
      const { _meta, resultType, ...created } = isLegacy ? asObject(started["task"]) : started
      assert.strictEqual(resultType, isLegacy ? undefined : "task")
      const got = resultOf(yield* host.request("tasks/get", { taskId: "t1" }))
      const found = resultOf(yield* host.request("tasks/get", { taskId: "other" }))
      const common = ["taskId", "status", "createdAt", "lastUpdatedAt", ...members]
      const namesOf = (task: JsonObject) =>
        Object.keys(task).filter((name) => name !== "_meta" && name !== "resultType")
      assert.sameMembers(namesOf(created), common)
      assert.sameMembers(namesOf(found), common)
      assert.sameMembers(namesOf(got), isLegacy ? common : [...common, "inputRequests"])
      assert.deepInclude(got, { taskId: "t1", status: "input_required" })
      const ended = resultOf(yield* host.request("tasks/cancel", { taskId: "other" }))
      assert.sameMembers(namesOf(ended), isLegacy ? common : [])
      assert.deepStrictEqual(cancelled, ["other"])
      const after = resultOf(yield* host.request("tasks/get", { taskId: "other" }))
      assert.strictEqual(after["status"], "cancelled")
    }
  )

  inWorld("answers the question of a task and gives its result", function* ({ session }) {
    const host = yield* open(session, capabilitiesFor({}, era))
    yield* host.request("tools/call", startParams(era, { kind: "form" }))
    const answer = { action: "accept", content: { name: "Ada" } }
    if (isLegacy) {
      const waiting = yield* Effect.forkChild(host.request("tasks/result", { taskId: "t1" }))
      const { id, params } = yield* nextOf(host, "elicitation/create")
      assert.deepStrictEqual(params, encoded.form)
      yield* host.send({ id, result: answer })
      const { _meta, content } = resultOf(yield* Fiber.join(waiting))
      assert.deepInclude(asObject(_meta), { "io.modelcontextprotocol/related-task": { taskId: "t1" } })
      assert.deepStrictEqual(content, textOf(answer)["content"])
      return
    }
    const { inputRequests } = resultOf(yield* host.request("tasks/get", { taskId: "t1" }))
    const [id = ""] = Object.keys(asObject(inputRequests))
    yield* host.request("tasks/update", { taskId: "t1", inputResponses: { [id]: answer } })
    const { result } = resultOf(yield* host.request("tasks/get", { taskId: "t1" }))
    assert.deepStrictEqual(asObject(result)["content"], textOf(answer)["content"])
  })

  inWorld(
    "makes a task only of a call whose host asks for it, and whose tool may run as one",
    function* ({ calls, session }) {
      const host = yield* open(session, { ...capabilitiesFor({}, era, false) })
      yield* host.request("tools/call", { name: "work", ...(!isLegacy && { task: {} }) })
      const withExtension = yield* open(session, { extensions: { [tasksExtension]: {} } })
      yield* withExtension.request("tools/call", { name: "work" })
      // A tool that runs at once only.
      yield* withExtension.request("tools/call", { name: "quick" })
      assert.deepStrictEqual(
        calls.map(({ by }) => by),
        ["call", isLegacy ? "call" : "start", "call"]
      )
    }
  )

  inWorld(
    "knows the methods of its revision that the session offers, and no other",
    function* ({ session, withoutTasks }) {
      const bare: McpSession = {
        ...withoutTasks,
        info: { ...withoutTasks.info, capabilities: { tools: true, resources: false, subscribe: false } }
      }
      const { request: _request, ...plain } = withoutTasks
      const codesOf = (published: McpSession) =>
        Effect.gen(function* () {
          const host = yield* open(published, capabilitiesFor({}, era))
          const requests: ReadonlyArray<readonly [string, JsonObject]> = [
            ["tools/list", {}],
            ["resources/list", {}],
            ["resources/templates/list", {}],
            ["resources/subscribe", { uri: "test://one" }],
            ["resources/unsubscribe", { uri: "test://one" }],
            ["prompts/list", {}],
            ["prompts/get", { name: "p" }],
            ["completion/complete", { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }],
            ["tasks/get", { taskId: "t1" }],
            ["tasks/result", { taskId: "unknown" }],
            ["tasks/update", { taskId: "t1", inputResponses: {} }],
            ["tasks/cancel", { taskId: "unknown" }]
          ]
          const known: Array<string> = []
          for (const [method, params] of requests) {
            const { error } = yield* host.request(method, params)
            if (asObject(error)["code"] !== -32601) known.push(method)
          }
          return known
        })
      const lists = ["tools/list", "resources/list", "resources/templates/list"]
      const subscriptions = isLegacy ? ["resources/subscribe", "resources/unsubscribe"] : []
      const forwarded = ["prompts/list", "prompts/get", "completion/complete"]
      const tasks = ["tasks/get", isLegacy ? "tasks/result" : "tasks/update", "tasks/cancel"]
      assert.deepStrictEqual(yield* codesOf(session), [...lists, ...subscriptions, ...forwarded, ...tasks])
      assert.deepStrictEqual(yield* codesOf(plain), [...lists, ...subscriptions])
      assert.deepStrictEqual(yield* codesOf(bare), ["tools/list"])
    }
  )

  inWorld("states how long a list stays fresh where its revision knows that", function* ({ withoutTasks }) {
    const host = yield* open(withoutTasks)
    const hintsOf = ({ cacheScope, ttlMs }: JsonObject) => [ttlMs, cacheScope]
    const lists = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"]
    const listed = yield* Effect.forEach(lists, (method) => host.request(method))
    assert.deepStrictEqual(
      [host.handshake, ...listed].map((response) => hintsOf(resultOf(response))),
      [host.handshake, ...listed].map(() => (isLegacy ? [undefined, undefined] : [60_000, "private"]))
    )
    const read = resultOf(yield* host.request("resources/read", { uri: "test://one" }))
    assert.deepStrictEqual(hintsOf(read), isLegacy ? [undefined, undefined] : [0, "private"])
  })

  inWorld("names the URI of a resource that does not exist", function* ({ withoutTasks }) {
    const host = yield* open(withoutTasks)
    const { error } = yield* host.request("resources/read", { uri: "test://none" })
    assert.deepInclude(asObject(error), { code: -32602, data: { uri: "test://none" } })
  })

  inWorld("interrupts the call of a cancelled request", function* ({ calls, interrupted, withoutTasks }) {
    const host = yield* open(withoutTasks, capabilitiesFor({}, era))
    const calling = yield* Effect.forkChild(host.request("tools/call", { name: "w", arguments: { waits: true } }))
    yield* until(() => calls.length === 1)
    yield* Fiber.interrupt(calling)
    assert.strictEqual(yield* Queue.take(interrupted), "call")
  })
})

describe.each(hostKinds.filter(([, era]) => era === "2025-11-25"))("a question to a host of %s", (name, era, open) => {
  const asking = Effect.gen(function* () {
    const world = yield* makeWorld
    const host = yield* open(world.session, capabilitiesFor({}, era))
    const calling = yield* Effect.forkChild(host.request("tools/call", { name: "ask", arguments: { kind: "form" } }))
    const { id } = yield* Queue.take(host.received)
    return { ...world, calling, host, id }
  })

  it.live.each<JsonObject>([
    { result: { action: "later" } },
    { result: {} },
    { error: { code: -32603, message: "no window" } }
  ])("counts as declined after the response %j", (response) =>
    Effect.gen(function* () {
      const { calling, host, id } = yield* asking
      yield* host.send({ id, ...response })
      assert.deepStrictEqual(resultOf(yield* Fiber.join(calling))["content"], textOf({ action: "decline" })["content"])
    })
  )

  // The timers of fetch would also stop.
  if (name.endsWith("stdio")) {
    it.live("waits for its answer as long as the call", () =>
      Effect.gen(function* () {
        yield* Effect.acquireRelease(
          Effect.sync(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })),
          () => Effect.sync(() => void vi.useRealTimers())
        )
        const { calling, host, id } = yield* asking
        vi.advanceTimersByTime(24 * 3_600_000)
        yield* host.send({ id, result: { action: "accept" } })
        assert.deepStrictEqual(resultOf(yield* Fiber.join(calling))["content"], textOf({ action: "accept" })["content"])
      })
    )
  }

  it.live("is cancelled with its call", () =>
    Effect.gen(function* () {
      const { calling, host, id } = yield* asking
      yield* Fiber.interrupt(calling)
      const { params } = yield* nextOf(host, "notifications/cancelled")
      assert.strictEqual(asObject(params)["requestId"], id)
    })
  )
})

describe.each(hostKinds.filter(([, era]) => era === "2026-07-28"))("a host of %s without tasks", (_, era, open) => {
  inWorld("learns that methods of tasks require the extension", function* ({ session }) {
    const host = yield* open(session, capabilitiesFor({}, era, false))
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const { error } = yield* host.request(method, { taskId: "t1", inputResponses: {} })
      const required = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } }
      assert.deepInclude(asObject(error), { code: -32021, data: required })
    }
  })
})

describe.each(hostKinds.filter(([, era]) => era === "2025-11-25"))("a host of %s", (_, era, open) => {
  it.live("gets structured content of a task that is a list as an object", () =>
    Effect.gen(function* () {
      const host = yield* open((yield* makeWorld).session)
      yield* host.request("tools/call", startParams(era, { structuredContent: [1] }))
      const { structuredContent } = resultOf(yield* host.request("tasks/result", { taskId: "t1" }))
      assert.deepStrictEqual(structuredContent, { result: [1] })
    })
  )

  it.effect("gets no notifications before it is initialized", () =>
    Effect.gen(function* () {
      const { server, session } = yield* makeWorld
      const host = yield* open(session)
      yield* server.notify({ _tag: "ToolsChanged" })
      yield* Effect.repeat(Effect.andThen(host.request("ping"), TestClock.adjust("100 millis")), { times: 3 })
      yield* listenToAll(host, era)
      yield* host.request("tools/list")
      yield* server.notify({ _tag: "PromptsChanged" })
      yield* Effect.repeat(Effect.andThen(TestClock.adjust("100 millis"), Queue.size(host.received)), {
        until: (size) => size > 0
      })
      assert.deepInclude(yield* Queue.take(host.received), { method: "notifications/prompts/list_changed" })
    })
  )
})

describe.each(["2025-11-25", "2026-07-28"] as const)("a host of %s beside another at one URL", (era) => {
  inWorld("gets its own questions and progress", function* ({ calls, finish, withoutTasks }) {
    const url = yield* publishAt(withoutTasks)
    const asking = yield* openHttpHost(url, era, { elicitation: { url: {} } })
    const silent = yield* openHttpHost(url, era)
    const call = (host: Host, progress: number) =>
      Effect.forkChild(
        host.request("tools/call", {
          name: "report",
          arguments: { progress, waits: true },
          _meta: { progressToken: "same" }
        })
      )
    const calling = [yield* call(asking, 1), yield* call(silent, 2)]
    for (const [host, progress] of [
      [asking, 1],
      [silent, 2]
    ] as const) {
      assert.strictEqual(asObject((yield* nextOf(host, "notifications/progress"))["params"])["progress"], progress)
    }
    yield* finish
    for (const fiber of calling) assert.property(yield* Fiber.join(fiber), "result")
    assert.sameDeepMembers(
      calls.map(({ args, modes }) => [args["progress"], modes] as const),
      [
        [1, ["url"]],
        [2, []]
      ]
    )
  })

  inWorld("follows the task that the other one started", function* ({ calls, session }) {
    const url = yield* publishAt(session)
    const [first, second] = [
      yield* openHttpHost(url, era, capabilitiesFor({}, era)),
      yield* openHttpHost(url, era, capabilitiesFor({}, era))
    ]
    yield* first.request("tools/call", startParams(era, { kind: "form" }))
    const got = resultOf(yield* second.request("tasks/get", { taskId: "t1" }))
    assert.deepInclude(got, { taskId: "t1", status: "input_required" })
    assert.deepStrictEqual(
      calls.map(({ by }) => by),
      ["start"]
    )
  })
})
