import type { ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { McpChange } from "../../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../../src/domain/json.ts"
import { type Requested, json, makeHttpPeer, open, stream } from "../http/HttpPeer.ts"
import { failedResponses, type OddResponse, repairedResponses, withId } from "../oddResponses.ts"

const complete = { resultType: "complete" }
const serverMeta = { "io.modelcontextprotocol/serverInfo": { name: "hidden", version: "1" } }
const done = { content: [{ type: "text", text: "done" }] }

/** The response to the legacy handshake. */
const refusals = {
  version: { code: -32022, message: "Unsupported protocol version", data: { supported: ["2026-07-28"] } },
  method: { code: -32601, message: "Method not found" }
}

/** A server of MCP 2026-07-28 with injected faults. */
const makeServer = Effect.fnUntraced(function* ({
  capabilities = { tools: {}, resources: { subscribe: true, listChanged: true } },
  honours = (wanted) => wanted,
  refusal = "version",
  versions = ["2026-07-28"]
}: {
  readonly capabilities?: object
  /** The subscriptions it accepts; undefined rejects the request. */
  readonly honours?: (wanted: JsonObject) => JsonObject | undefined
  readonly refusal?: keyof typeof refusals
  readonly versions?: ReadonlyArray<string>
} = {}) {
  const streams = new Set<ServerResponse>()
  let promptsLifetime: unknown = 5000
  const pages = [{ nextCursor: "2", ttlMs: 9000 }, { ttlMs: 7000 }]
  let contents = "old"
  let lastHeaders: ReadonlyArray<unknown> = []

  const listen = ({ id, params }: Requested, response: ServerResponse) => {
    const honoured = honours(params["notifications"] as JsonObject)
    if (honoured === undefined) return json(response, id, { error: refusals.method }, 404)
    const acknowledged = {
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: { _meta: { "io.modelcontextprotocol/subscriptionId": id }, notifications: honoured }
    }
    return streams.add(stream(response, `data: ${JSON.stringify(acknowledged)}\n\n`))
  }
  const call = ({ headers, id, params }: Requested, response: ServerResponse) => {
    switch (params.name ?? "") {
      case "hang":
        return stream(response, ": patience\n\n")
      case "cut":
        stream(response, 'data: {"jsonrpc":"2.0","id":')
        return setImmediate(() => response.destroy())
      case "change":
        contents = "new"
        return json(response, id, { result: { ...complete, ...done } })
      default:
        lastHeaders = [headers["mcp-protocol-version"], headers["mcp-method"], headers["mcp-name"]]
        return json(response, id, { result: { ...complete, ...done, _meta: serverMeta } })
    }
  }
  const peer = yield* makeHttpPeer((peerRequest, response) => {
    const { id, method } = peerRequest
    switch (method) {
      case "initialize":
        return json(response, id, { error: refusals[refusal] }, 400)
      case "server/discover":
        return json(response, id, { result: { ...complete, supportedVersions: versions, capabilities } })
      case "subscriptions/listen":
        return listen(peerRequest, response)
      case "tools/list":
        return json(response, id, {
          result: { ...complete, tools: [], ...pages[peerRequest.params["cursor"] === undefined ? 0 : 1] }
        })
      case "prompts/list":
        return json(response, id, { result: { ...complete, prompts: [], ttlMs: promptsLifetime } })
      case "resources/read":
        return json(response, id, { result: { ...complete, contents: [{ text: contents }] } })
      case "prompts/get":
        return json(response, id, { result: { ...complete, messages: [], _meta: { ...serverMeta, own: 1 } } })
      default:
        return call(peerRequest, response)
    }
  })
  return {
    ...peer,
    lastHeaders: () => lastHeaders,
    setPromptsLifetime: (ttlMs: unknown) => void (promptsLifetime = ttlMs),
    /** Closes the subscriptions. */
    closeSubscriptions: () => {
      for (const response of streams) response.destroy()
      streams.clear()
    }
  }
})

describe("MCP 2026-07-28 server", () => {
  it.live("does not name itself in results, whose other metadata stays", () =>
    Effect.gen(function* () {
      const session = yield* open(yield* makeServer())
      assert.deepStrictEqual(yield* session.callTool("t", {}), done)
      const prompt = yield* session.request?.("prompts/get", { name: "p" }) ?? Effect.undefined
      assert.deepStrictEqual(prompt, { messages: [], _meta: { own: 1 } })
    })
  )

  for (const refusal of ["version", "method"] as const) {
    it.live(`is detected by a rejected handshake (${refusal}) and receives the request headers`, () =>
      Effect.gen(function* () {
        const peer = yield* makeServer({ refusal })
        const session = yield* open(peer)
        assert.strictEqual(session.info.protocolVersion, "2026-07-28")
        assert.deepStrictEqual(yield* session.callTool("t", {}), done)
        assert.deepStrictEqual(peer.lastHeaders(), ["2026-07-28", "tools/call", "t"])
      })
    )
  }

  it.live("states how long its lists stay fresh: the shortest time of all pages of the latest lists", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer()
      const session = yield* open(peer)
      const listPrompts = (ttlMs: unknown) =>
        Effect.andThen(
          Effect.sync(() => peer.setPromptsLifetime(ttlMs)),
          session.request?.("prompts/list", {}) ?? Effect.void
        )
      const lifetime = () => session.listLifetime?.()
      assert.isUndefined(lifetime())
      yield* session.listTools()
      assert.strictEqual(lifetime(), 9000)
      yield* session.listTools("2")
      assert.strictEqual(lifetime(), 7000)
      yield* listPrompts(5000)
      assert.strictEqual(lifetime(), 5000)
      yield* listPrompts(8000)
      assert.strictEqual(lifetime(), 7000)
      for (const odd of [-1, "5000", undefined]) {
        yield* listPrompts(odd)
        assert.strictEqual(lifetime(), 0)
      }
    })
  )

  it.live("receives the parameters that its tools want as headers, and lists no tool with an invalid one", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const toolWith = (name: string, header: string) => ({
        name,
        inputSchema: { type: "object", properties: { a: { type: "string", "x-mcp-header": header } } }
      })
      let header = "First"
      const peer = yield* makeHttpPeer(({ headers, id, method }, response) => {
        if (method === "initialize") return json(response, id, { error: refusals.version }, 400)
        if (method === "server/discover") {
          return json(response, id, { result: { ...complete, supportedVersions: ["2026-07-28"], capabilities: {} } })
        }
        if (method === "tools/list") {
          return json(response, id, { result: { ...complete, tools: [toolWith("t", header), toolWith("bad", "")] } })
        }
        const value = headers[`mcp-param-${header.toLowerCase()}`]
        seen.push(value)
        const mismatch = { error: { code: -32020, message: "Header mismatch" } }
        return value === undefined ? json(response, id, mismatch, 400) : json(response, id, { result: done })
      })
      const session = yield* open(peer)
      assert.deepStrictEqual(
        (yield* session.listTools()).items.map(({ name }) => name),
        ["t"]
      )
      assert.deepStrictEqual(yield* session.callTool("t", { a: "x" }), done)
      // The tool has changed since.
      header = "Second"
      assert.deepStrictEqual(yield* session.callTool("t", { a: "y" }), done)
      assert.deepStrictEqual(seen, ["x", undefined, "y"])
      header = "Third"
      assert.strictEqual((yield* Effect.flip(session.callTool("t", {}))).code, -32020)
    })
  )

  it.live("is rejected with a message when it supports only unknown revisions", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(open(yield* makeServer({ versions: ["2031-01-01"] })))
      assert.strictEqual(failure.reason, "unavailable")
      assert.include(failure.message, "2031-01-01")
    })
  )

  it.live("is reported with its first error when it supports neither era", () =>
    Effect.gen(function* () {
      const peer = yield* makeHttpPeer(({ id, method }, response) =>
        json(response, id, { error: { code: -32601, message: `no ${method} here` } })
      )
      assert.include((yield* Effect.flip(open(peer))).message, "no initialize here")
    })
  )

  it.live("fails a reset call at once, without a retry and without other failures", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer()
      const session = yield* open(peer)
      const waiting = yield* Effect.forkChild(session.callTool("hang", {}))
      yield* peer.until("hang")
      assert.strictEqual((yield* Effect.flip(session.callTool("cut", {}))).reason, "closed")
      // The lost response triggers a liveness check.
      yield* peer.until("server/discover")
      assert.deepStrictEqual(yield* session.callTool("t", {}), done)
      assert.strictEqual(peer.requests.filter((what) => what === "cut").length, 1)
      assert.isUndefined(waiting.pollUnsafe())
      yield* Fiber.interrupt(waiting)
    })
  )

  it.live("closes the session and every call when it does not respond", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer()
      const session = yield* open(peer)
      const waiting = yield* Effect.forkChild(Effect.flip(session.callTool("hang", {})))
      yield* peer.until("hang")
      yield* peer.stop
      assert.strictEqual((yield* Fiber.join(waiting)).reason, "closed")
      assert.include((yield* session.closed).message, "does not respond")
    })
  )

  it.live("receives a new subscription after a reset, and everything counts as changed", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer()
      const session = yield* open(peer)
      const changes = yield* session.watch({ tools: true, resources: false, uris: ["test://one"] })
      peer.closeSubscriptions()
      assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(changes, 2)), [
        { _tag: "ToolsChanged" },
        { _tag: "ResourceUpdated", uri: "test://one" }
      ])
    })
  )

  it.live("needs no subscriptions when it advertises no notifications", () =>
    Effect.gen(function* () {
      const peer = yield* makeServer({ capabilities: { tools: {}, resources: {} }, honours: () => undefined })
      const session = yield* open(peer)
      yield* Effect.asVoid(session.watch({ tools: true, resources: true, uris: [] }))
      const reason = yield* Effect.timeoutOption(session.degraded ?? Effect.never, "1 millis")
      assert.isTrue(Option.isNone(reason))
      const failure = yield* Effect.flip(session.watch({ tools: false, resources: false, uris: ["test://one"] }))
      assert.strictEqual(failure.reason, "unsupported")
    })
  )

  for (const [what, honours] of [
    ["rejects subscriptions", () => undefined],
    ["accepts only a part of the subscriptions", () => ({ resourcesListChanged: true })]
  ] as const) {
    it.effect(`is polled when it ${what}`, () =>
      Effect.gen(function* () {
        const session = yield* open(yield* makeServer({ honours }))
        const seen = yield* Queue.unbounded<McpChange>()
        const changes = yield* session.watch({ tools: false, resources: false, uris: ["test://one"] })
        yield* Effect.forkChild(Stream.runForEach(changes, (change) => Queue.offer(seen, change)))
        assert.include(yield* session.degraded ?? Effect.succeed(""), "rejects")
        yield* session.callTool("change", {})
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(yield* Queue.take(seen), { _tag: "ResourceUpdated", uri: "test://one" })
      })
    )
  }
})

describe("odd response of a MCP 2026-07-28 server", () => {
  const carriers = {
    "a JSON document": (text: string, response: ServerResponse) =>
      response.writeHead(200, { "Content-Type": "application/json" }).end(text),
    "an event stream": (text: string, response: ServerResponse) => stream(response, `data: ${text}\n\n`)
  }
  /** Sends `text` instead of the response to each later request with this method. */
  const openOdd = (oddMethod: string, text: string, send: (typeof carriers)["a JSON document"]) =>
    Effect.gen(function* () {
      let discovered = false
      const peer = yield* makeHttpPeer(({ id, method }, response) => {
        if (method === "initialize") return json(response, id, { error: refusals.version }, 400)
        if (method !== oddMethod || (method === "server/discover" && !discovered)) {
          discovered = true
          return json(response, id, {
            result: { resultType: null, supportedVersions: ["2026-07-28"], capabilities: { tools: null }, _meta: null }
          })
        }
        return send(withId(text, JSON.stringify(id)), response)
      })
      return yield* open(peer)
    })
  // The ids of this era are texts.
  const usesTextId = ({ text }: OddResponse) => !/"\{id\}|\{id\}\./.test(text)

  for (const [carrier, send] of Object.entries(carriers)) {
    it.live.each(repairedResponses.filter(usesTextId))(`gives the result of $title in ${carrier}`, ({ text }) =>
      Effect.gen(function* () {
        const session = yield* openOdd("tools/call", text, send)
        assert.property(yield* session.callTool("x", {}), "content")
      })
    )

    it.live.each(failedResponses)(`fails the call at once after $title in ${carrier}`, (odd) =>
      Effect.gen(function* () {
        const session = yield* openOdd("tools/call", odd.text, send)
        assert.include((yield* Effect.flip(session.callTool("x", {}))).message, odd.reason)
      })
    )
  }

  it.live.each(['{"resultType":"other"}', '{"resultType":"task","taskId":"1"}', '{"resultType":"input_required"}'])(
    "takes the result %s for an answer to a ping",
    (result) =>
      Effect.gen(function* () {
        const text = `{"jsonrpc":"2.0","id":{id},"result":${result}}`
        yield* (yield* openOdd("server/discover", text, carriers["a JSON document"])).ping
      })
  )
})
