import type { ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { vi } from "vitest"
import type { McpCallOptions, McpSession } from "../../../../src/application/ports/McpSession.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import type { InputAnswer, InputRequest } from "../../../../src/domain/model/InputRequest.ts"
import { packageVersion } from "../../../../src/domain/packageVersion.ts"
import { appCapability } from "../../../../src/domain/tools/appTools.ts"
import { type Requested, json, makeHttpPeer, open, stream } from "./http/HttpPeer.ts"

const done = { content: [{ type: "text", text: "done" }] }
const serverInfo = { name: "peer", version: "7", title: "A peer", websiteUrl: "https://a.example" }
const capabilities = {
  tools: {},
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {}
}
const elicitation = { form: {}, url: {} }
const clientInfo = { name: "a2c-smcp", version: packageVersion }
const schema = { type: "object", properties: { name: { type: "string" } } }
const form = { method: "elicitation/create", params: { message: "who?", requestedSchema: schema } }

type Era = "2025-11-25" | "2026-07-28"
const eras: ReadonlyArray<Era> = ["2025-11-25", "2026-07-28"]

type Answer = (request: Requested, response: ServerResponse) => unknown

/** A server of one era that answers the handshake, and other requests with `answer`; records all of them. */
const makeServer = Effect.fnUntraced(function* (
  era: Era,
  answer: Answer,
  { offered = capabilities }: { readonly offered?: JsonObject } = {}
) {
  const requests: Array<Requested> = []
  const peer = yield* makeHttpPeer((request, response) => {
    requests.push(request)
    const { id, method, verb } = request
    if (verb === "GET") return response.writeHead(405).end()
    if (verb === "DELETE" || id === undefined) return response.writeHead(202).end()
    if (method === "initialize") {
      return era === "2025-11-25"
        ? json(response, id, {
            result: { protocolVersion: era, capabilities: offered, serverInfo, instructions: "be kind" }
          })
        : json(response, id, { error: { code: -32022, message: "Unsupported protocol version" } }, 400)
    }
    if (method === "server/discover") {
      const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo }
      const result = { supportedVersions: [era], capabilities: offered, instructions: "be kind", _meta }
      return json(response, id, { result })
    }
    return answer(request, response)
  })
  return { peer, requests }
})

const plain: Answer = ({ id }, response) => json(response, id, { result: { ...done, contents: [], tools: [] } })

/** Answers each question with its text. */
const responderOf = (
  asked: Array<InputRequest>,
  answer: InputAnswer = { action: "accept", content: { name: "Ada" } }
) => ({
  modes: ["form", "url"] as const,
  answer: (request: InputRequest) =>
    Effect.sync(() => {
      asked.push(request)
      return answer
    })
})

/** Replaces the timers of this process, such as those of an SDK, until the scope closes. */
const withFakeTimers = Effect.acquireRelease(
  Effect.sync(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })),
  () => Effect.sync(() => void vi.useRealTimers())
)

describe.each(eras)("a session with an MCP server of %s", (era) => {
  const isLegacy = era === "2025-11-25"

  it.live("has what the server says of itself", () =>
    Effect.gen(function* () {
      const { peer } = yield* makeServer(era, plain)
      assert.deepStrictEqual((yield* open(peer)).info, {
        name: "peer",
        version: "7",
        protocolVersion: era,
        capabilities: { tools: true, resources: true, subscribe: true, prompts: true, completions: true },
        instructions: "be kind",
        implementation: serverInfo
      })
    })
  )

  it.live("sends the configured headers with every request", () =>
    Effect.gen(function* () {
      const { peer, requests } = yield* makeServer(era, plain)
      const session = yield* open(peer, { headers: { "X-Key": "k" } })
      yield* session.callTool("t", {})
      yield* session.listResources()
      yield* Effect.scoped(Effect.ignore(session.watch({ tools: true, resources: false, uris: [] })))
      assert.isAtLeast(requests.length, 4)
      assert.deepStrictEqual([...new Set(requests.map(({ headers }) => headers["x-key"]))], ["k"])
    })
  )

  it.live("says which questions, apps, tasks and logs it takes", () =>
    Effect.gen(function* () {
      const { peer, requests } = yield* makeServer(era, plain)
      const session = yield* open(peer)
      yield* session.listTools()
      yield* session.readResource("test://one")
      yield* session.request?.("prompts/list", {}) ?? Effect.void
      yield* session.callTool("t", {})
      yield* Effect.ignore(session.watch({ tools: true, resources: false, uris: [] }))
      if (isLegacy) {
        const [first] = requests
        assert.deepInclude(first?.params, { clientInfo, capabilities: { elicitation, extensions: appCapability } })
        yield* Effect.repeat(Effect.sleep(5), {
          until: () => requests.some(({ method }) => method === "logging/setLevel")
        })
        assert.deepStrictEqual(requests.find(({ method }) => method === "logging/setLevel")?.params, { level: "info" })
        return
      }
      const meta = {
        "io.modelcontextprotocol/protocolVersion": era,
        "io.modelcontextprotocol/clientInfo": clientInfo,
        "io.modelcontextprotocol/clientCapabilities": {
          elicitation,
          extensions: { ...appCapability, "io.modelcontextprotocol/tasks": {} }
        },
        "io.modelcontextprotocol/logLevel": "info"
      }
      const sent = requests.filter(({ method }) => method !== "initialize")
      assert.includeMembers(
        sent.map(({ method }) => method),
        ["server/discover", "tools/list", "resources/read", "prompts/list", "tools/call", "subscriptions/listen"]
      )
      for (const { method, params } of sent) assert.deepStrictEqual(params["_meta"], meta, method)
    })
  )

  it.live("passes the name, the arguments, the URI and the cursor of each request", () =>
    Effect.gen(function* () {
      const { peer, requests } = yield* makeServer(era, plain)
      const session = yield* open(peer)
      yield* session.callTool("t", { a: [1] })
      yield* session.readResource("test://one")
      yield* session.listTools("more")
      yield* session.listResources("rest")
      const paramsOf = (wanted: string) => {
        const { _meta, ...params } = requests.find(({ method }) => method === wanted)?.params ?? {}
        return params
      }
      assert.deepStrictEqual(["tools/call", "resources/read", "tools/list", "resources/list"].map(paramsOf), [
        { name: "t", arguments: { a: [1] } },
        { uri: "test://one" },
        { cursor: "more" },
        { cursor: "rest" }
      ])
    })
  )

  it.live("gives the progress of each call to its caller", () =>
    Effect.gen(function* () {
      const held: Array<() => void> = []
      const { peer } = yield* makeServer(
        era,
        ({ id, params }, response) => {
          const { progressToken } = asObject(params["_meta"])
          const step = { progressToken, progress: Number(params.name), total: 9, message: "at it" }
          held.push(() => {
            const progress = { jsonrpc: "2.0", method: "notifications/progress", params: step }
            stream(response, `data: ${JSON.stringify(progress)}\n\n`)
            setImmediate(() => response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: done })}\n\n`))
          })
          if (held.length === 2) for (const release of held.toReversed()) release()
        },
        { offered: { tools: {} } }
      )
      const session = yield* open(peer)
      const seen: Array<readonly [caller: string, step: unknown]> = []
      const call = (name: string) =>
        session.callTool(name, {}, { onProgress: (step) => Effect.sync(() => void seen.push([name, step])) })
      yield* Effect.all([call("1"), call("2")], { concurrency: 2 })
      assert.sameDeepMembers(
        seen,
        [1, 2].map((progress) => [String(progress), { progress, total: 9, message: "at it" }] as const)
      )
    })
  )

  it.live("waits for a call as long as it takes where sse_read_timeout is off", () =>
    Effect.gen(function* () {
      const held = yield* Deferred.make<() => void>()
      const { peer } = yield* makeServer(
        era,
        (request, response) =>
          void Deferred.doneUnsafe(
            held,
            Exit.succeed(() => void plain(request, response))
          ),
        { offered: { tools: {} } }
      )
      const session = yield* open(peer, { sse_read_timeout: "PT0S" })
      yield* withFakeTimers
      const calling = yield* Effect.forkChild(session.callTool("t", {}))
      const release = yield* Deferred.await(held)
      vi.advanceTimersByTime(24 * 3_600_000)
      release()
      assert.deepInclude(yield* Fiber.join(calling), done)
    })
  )

  it.live("bounds requests by timeout, and calls by sse_read_timeout", () =>
    Effect.gen(function* () {
      const { peer } = yield* makeServer(era, () => undefined, { offered: { tools: {} } })
      const session = yield* open(peer, { timeout: "PT0.2S", sse_read_timeout: "PT0.4S" })
      const failures = yield* Effect.all([Effect.flip(session.listTools()), Effect.flip(session.callTool("t", {}))], {
        concurrency: 2
      })
      assert.deepStrictEqual(
        failures.map(({ message }) => /after [\d.]+ seconds/.exec(message)?.[0]),
        ["after 0.2 seconds", "after 0.4 seconds"]
      )
    })
  )

  /** A server that makes a task of each call of the tool `work`, which asks, and then ends. */
  const makeTaskServer = Effect.gen(function* () {
    const bodies: Array<readonly [string, JsonObject]> = []
    let polls = 0
    let support = "required"
    let answered: unknown
    const { peer } = yield* makeServer(
      era,
      ({ id, method, params }, response) => {
        bodies.push([method, params])
        const reply = (result: JsonObject) => json(response, id, { result })
        const state = (status: string, more: JsonObject = {}) => ({
          taskId: "t9",
          status,
          pollInterval: 100,
          pollIntervalMs: 100,
          ...more
        })
        switch (method) {
          case "tools/list":
            return reply({
              tools: [{ name: "work", inputSchema: { type: "object" }, execution: { taskSupport: support } }]
            })
          case "tools/call":
            if (!isLegacy) return reply({ resultType: "task", ...state("working", { statusMessage: "begun" }) })
            return reply("task" in params ? { task: state("working", { statusMessage: "begun" }) } : done)
          case "tasks/get":
            polls++
            if (polls === 1) return reply(state("working", { statusMessage: "half" }))
            if (isLegacy) return reply(state("completed"))
            return reply(
              answered === undefined
                ? state("input_required", { inputRequests: { q: form } })
                : state("completed", { result: done })
            )
          case "tasks/update":
            answered = params["inputResponses"]
            return reply({})
          case "tasks/result":
            return reply(done)
          default:
            return reply({})
        }
      },
      { offered: { tools: {} } }
    )
    const session = yield* open(peer)
    return {
      session,
      bodies,
      namedTasks: () => bodies.flatMap(([method, params]) => (method.startsWith("tasks/") ? [params["taskId"]] : [])),
      answered: () => answered,
      makeOptional: () => void (support = "optional")
    }
  })

  it.live("follows the task that the server makes of a call, with its progress and its questions", () =>
    Effect.gen(function* () {
      const { answered, namedTasks, session } = yield* makeTaskServer
      yield* session.listTools()
      const [asked, messages]: [Array<InputRequest>, Array<unknown>] = [[], []]
      const options: McpCallOptions = {
        responder: responderOf(asked),
        onProgress: ({ message }) => Effect.sync(() => void messages.push(message))
      }
      assert.deepStrictEqual(yield* session.callTool("work", {}, options), done)
      assert.deepStrictEqual(messages, ["begun", "half"])
      assert.deepStrictEqual([...new Set(namedTasks())], ["t9"])
      if (isLegacy) return
      assert.deepStrictEqual(answered(), { q: { action: "accept", content: { name: "Ada" } } })
      assert.deepStrictEqual(asked, [{ mode: "form", message: "who?", schema }])
    })
  )

  it.live("asks for a task only of a tool that requires it in the latest list", () =>
    Effect.gen(function* () {
      const { bodies, makeOptional, session } = yield* makeTaskServer
      const asksForTask = Effect.fnUntraced(function* (name: string) {
        bodies.length = 0
        yield* session.callTool(name, {}, { responder: responderOf([]) })
        return "task" in (bodies.find(([method]) => method === "tools/call")?.[1] ?? {})
      })
      yield* session.listTools()
      assert.strictEqual(yield* asksForTask("work"), isLegacy)
      assert.isFalse(yield* asksForTask("other"))
      makeOptional()
      yield* session.listTools()
      assert.isFalse(yield* asksForTask("work"))
    })
  )
})

describe("a call whose MCP server of 2025-11-25 wants pages to be opened first", () => {
  const pages = [
    { mode: "url", message: "sign in", url: "https://a.example/1" },
    { mode: "url", message: "and here", url: "https://a.example/2" }
  ]
  const calling = (options: McpCallOptions, rejections = Number.POSITIVE_INFINITY) =>
    Effect.gen(function* () {
      let calls = 0
      const { peer } = yield* makeServer(
        "2025-11-25",
        ({ id }, response) => {
          calls++
          return calls > rejections
            ? json(response, id, { result: done })
            : json(response, id, { error: { code: -32042, message: "open", data: { elicitations: pages } } })
        },
        { offered: { tools: {} } }
      )
      const session = yield* open(peer)
      const outcome = yield* Effect.match(session.callTool("t", {}, options), {
        onSuccess: (result) => result,
        onFailure: ({ code }) => ({ code })
      })
      return { calls, outcome }
    }).pipe(Effect.scoped)

  it.live("is repeated once all are open", () =>
    Effect.gen(function* () {
      const asked: Array<InputRequest> = []
      const { calls, outcome } = yield* calling({ responder: responderOf(asked, { action: "accept" }) }, 1)
      assert.deepStrictEqual([calls, outcome, asked], [2, done, pages as unknown as Array<InputRequest>])
    })
  )

  it.live("is repeated three times at most", () =>
    Effect.gen(function* () {
      const { calls, outcome } = yield* calling({ responder: responderOf([], { action: "accept" }) })
      assert.deepStrictEqual([calls, outcome], [4, { code: -32042 }])
    })
  )

  it.live("is not repeated after a refusal, and without a responder", () =>
    Effect.gen(function* () {
      const asked: Array<InputRequest> = []
      const refused = yield* calling({ responder: responderOf(asked, { action: "decline" }) })
      assert.deepStrictEqual([refused.calls, refused.outcome, asked.length], [1, { code: -32042 }, 1])
      const unanswered = yield* calling({})
      assert.deepStrictEqual([unanswered.calls, unanswered.outcome], [1, { code: -32042 }])
    })
  )
})

describe("a call whose MCP server of 2026-07-28 asks in rounds", () => {
  it.live("sends each time the latest state and the answers to its questions, ten times at most", () =>
    Effect.gen(function* () {
      const sent: Array<JsonObject> = []
      const { peer } = yield* makeServer(
        "2026-07-28",
        ({ id, params }, response) => {
          const { _meta, arguments: _arguments, name: _name, ...round } = params
          sent.push(round)
          const count = sent.length
          const requestState = count === 3 ? {} : { requestState: `s${count}` }
          json(response, id, {
            result: { resultType: "input_required", ...requestState, inputRequests: { [`q${count}`]: form } }
          })
        },
        { offered: { tools: {} } }
      )
      const session = yield* open(peer)
      const failure = yield* Effect.flip(session.callTool("t", { a: 1 }, { responder: responderOf([]) }))
      assert.include(failure.message, "10 times")
      const answer = { action: "accept", content: { name: "Ada" } }
      assert.deepStrictEqual(
        sent,
        Array.from({ length: 10 }, (_, count) =>
          count === 0
            ? {}
            : {
                ...(count !== 3 && { requestState: `s${count}` }),
                inputResponses: { [`q${count}`]: answer }
              }
        )
      )
    })
  )
})

describe("a question of an MCP server of 2025-11-25", () => {
  const asking = Effect.fnUntraced(function* (
    use: (session: McpSession, asked: Deferred.Deferred<void>) => Effect.Effect<void>
  ) {
    const responses: Array<ServerResponse> = []
    const { peer, requests } = yield* makeServer(
      "2025-11-25",
      (_, response) => {
        responses.push(stream(response, `data: ${JSON.stringify({ jsonrpc: "2.0", id: "ask-1", ...form })}\n\n`))
      },
      { offered: { tools: {} } }
    )
    const asked = yield* Deferred.make<void>()
    yield* use(yield* open(peer), asked)
    return { responses, requests, asked: Deferred.await(asked) }
  })

  it.live("ends at the responder when the server cancels it", () =>
    Effect.gen(function* () {
      const ended = yield* Deferred.make<void>()
      const { asked, responses } = yield* asking((session, began) => {
        const answer = () =>
          Deferred.succeed(began, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
          )
        return Effect.asVoid(
          Effect.forkDetach(Effect.ignore(session.callTool("t", {}, { responder: { modes: ["form"], answer } })))
        )
      })
      yield* asked
      const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "ask-1" } }
      responses[0]?.write(`data: ${JSON.stringify(cancelled)}\n\n`)
      yield* Deferred.await(ended)
    })
  )

  it.live("is cancelled for the server when its call ends", () =>
    Effect.gen(function* () {
      let calling: Fiber.Fiber<unknown> | undefined
      const { asked, requests } = yield* asking((session, began) => {
        const answer = () => Effect.andThen(Deferred.succeed(began, undefined), Effect.never)
        const call = Effect.ignore(session.callTool("t", {}, { responder: { modes: ["form"], answer } }))
        return Effect.map(Effect.forkDetach(call), (fiber) => void (calling = fiber))
      })
      yield* asked
      if (calling !== undefined) yield* Fiber.interrupt(calling)
      yield* Effect.repeat(Effect.sleep(5), {
        until: () => requests.some(({ method }) => method === "notifications/cancelled")
      })
    })
  )
})

describe("a session over HTTP with SSE", () => {
  it.live("sends the configured headers with its stream and with every message", () =>
    Effect.gen(function* () {
      const keys: Array<unknown> = []
      let events: ServerResponse | undefined
      const peer = yield* makeHttpPeer(({ headers, id, method, verb }, response) => {
        keys.push(`${verb} ${String(headers["x-key"])}`)
        if (verb === "GET") return (events = stream(response, "event: endpoint\ndata: /messages\n\n"))
        const isHandshake = method === "initialize"
        const result = isHandshake ? { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } : done
        if (id !== undefined) events?.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`)
        return response.writeHead(202).end()
      })
      const session = yield* open(peer, { headers: { "X-Key": "k" }, timeout: 5, sse_read_timeout: 300 }, "sse")
      assert.deepStrictEqual(yield* session.callTool("t", {}), done)
      assert.deepStrictEqual([...new Set(keys)], ["GET k", "POST k"])
    })
  )
})
