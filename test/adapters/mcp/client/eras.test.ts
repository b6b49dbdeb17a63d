import type { ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { vi } from "vitest"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import type { InputRequest } from "../../../../src/domain/model/InputRequest.ts"
import { packageVersion } from "../../../../src/domain/packageVersion.ts"
import { appCapability } from "../../../../src/domain/tools/appTools.ts"
import { until } from "../../../until.ts"
import { type Requested, json, makeHttpPeer, open, openPreferring, openSse, stream } from "./http/HttpPeer.ts"

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
        yield* until(() => requests.some(({ method }) => method === "logging/setLevel"))
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

  it.live("asks for a task where a tool requires it, unless servers of the revision decide that", () =>
    Effect.gen(function* () {
      const tools = [{ name: "work", inputSchema: { type: "object" }, execution: { taskSupport: "required" } }]
      const { peer, requests } = yield* makeServer(
        era,
        ({ id, method, params }, response) => {
          const task = "task" in params && { task: { taskId: "t9", status: "completed" } }
          return json(response, id, { result: method === "tools/list" ? { tools } : { ...done, ...task } })
        },
        { offered: { tools: {} } }
      )
      const session = yield* open(peer)
      yield* session.listTools()
      assert.deepStrictEqual(yield* session.callTool("work", {}), done)
      const called = requests.find(({ method }) => method === "tools/call")
      assert.deepStrictEqual(
        ["task" in (called?.params ?? {}), requests.at(-1)?.method === "tasks/result"],
        [isLegacy, isLegacy]
      )
    })
  )
})

describe("a call whose MCP server of 2025-11-25 wants pages to be opened first", () => {
  it.live("is repeated once all are open", () =>
    Effect.gen(function* () {
      const pages = [
        { mode: "url", message: "sign in", url: "https://a.example/1" },
        { mode: "url", message: "and here", url: "https://a.example/2" }
      ] as const
      let calls = 0
      const { peer } = yield* makeServer(
        "2025-11-25",
        ({ id }, response) => {
          calls++
          return calls > 1
            ? json(response, id, { result: done })
            : json(response, id, { error: { code: -32042, message: "open", data: { elicitations: pages } } })
        },
        { offered: { tools: {} } }
      )
      const asked: Array<InputRequest> = []
      const answer = (request: InputRequest) =>
        Effect.as(
          Effect.sync(() => void asked.push(request)),
          { action: "accept" } as const
        )
      const result = yield* (yield* open(peer)).callTool("t", {}, { responder: { modes: ["form", "url"], answer } })
      assert.deepStrictEqual([calls, result, asked], [2, done, [...pages]])
    })
  )
})

describe("a question of an MCP server of 2025-11-25", () => {
  it.live("ends at the responder when the server cancels it", () =>
    Effect.gen(function* () {
      const responses: Array<ServerResponse> = []
      const { peer } = yield* makeServer(
        "2025-11-25",
        (_, response) => {
          responses.push(stream(response, `data: ${JSON.stringify({ jsonrpc: "2.0", id: "ask-1", ...form })}\n\n`))
        },
        { offered: { tools: {} } }
      )
      const [asked, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const answer = () =>
        Deferred.succeed(asked, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
        )
      const session = yield* open(peer)
      yield* Effect.forkChild(Effect.ignore(session.callTool("t", {}, { responder: { modes: ["form"], answer } })))
      yield* Deferred.await(asked)
      const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "ask-1" } }
      responses[0]?.write(`data: ${JSON.stringify(cancelled)}\n\n`)
      yield* Deferred.await(ended)
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
      const session = yield* openSse(peer, { headers: { "X-Key": "k" } })
      assert.deepStrictEqual(yield* session.callTool("t", {}), done)
      assert.deepStrictEqual([...new Set(keys)], ["GET k", "POST k"])
    })
  )
})

describe("the revision that a server is asked for first", () => {
  for (const era of eras) {
    it.live(`opens a session with a server of ${era} in either order`, () =>
      Effect.gen(function* () {
        for (const [revision, first] of [
          ["2025-11-25", "initialize"],
          ["2026-07-28", "server/discover"]
        ] as const) {
          const { peer, requests } = yield* makeServer(era, plain)
          const session = yield* openPreferring(revision, peer)
          assert.strictEqual(session.info.protocolVersion, era)
          assert.strictEqual(requests[0]?.method, first)
        }
      })
    )
  }

  it.live("is asked for again when the server refuses it although it supports it", () =>
    Effect.gen(function* () {
      let refused = 0
      const peer = yield* makeHttpPeer((request, response) => {
        const { id } = request
        const data = { supported: ["2026-07-28"] }
        return refused++ === 0
          ? json(response, id, { error: { code: -32022, message: "Unsupported protocol version", data } }, 400)
          : json(response, id, { result: { supportedVersions: ["2026-07-28"], capabilities: {} } })
      })
      const { info } = yield* openPreferring("2026-07-28", peer)
      assert.strictEqual(info.protocolVersion, "2026-07-28")
      assert.deepStrictEqual(peer.requests, ["server/discover", "server/discover"])
    })
  )
})
