import { request as httpRequest } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Queue, Redacted, Scope } from "effect"
import { makeMemoryMcpServer } from "../../../../../src/adapters/memory/MemoryMcp.ts"
import { publishHttp, type PublishHttpOptions } from "../../../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { tool } from "../../../../conformance/members.ts"
import { loopbackAddress } from "../../../../loopbackAddress.ts"
import { connectHttp } from "../clients.ts"
import { type TestBody, liveWith } from "../../../../testWith.ts"

const initialize = (id = 1) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "0" } }
  })

/** Sends a part of a body and waits, until the scope closes. */
const holdPart = (url: string, bytes: number) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof httpRequest>>((resume) => {
      const headers = { ...defaultHeaders, "Content-Length": String(2 * bytes) }
      const request = httpRequest(url, { method: "POST", headers })
      request.on("error", () => request.destroy())
      request.write("x".repeat(bytes), () => resume(Effect.succeed(request)))
    }),
    (request) => Effect.sync(() => request.destroy())
  )

const defaultHeaders = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" }

/** The response without its body. */
const request = (url: string, headers: Record<string, string> = {}, { body = initialize(), method = "POST" } = {}) =>
  Effect.callback<{ readonly status: number; readonly headers: NodeJS.Dict<string | ReadonlyArray<string>> }>(
    (resume) => {
      const request = httpRequest(url, { method, headers: { ...defaultHeaders, ...headers } }, (response) => {
        const { headers: answered, statusCode = 0 } = response
        response.resume()
        response.on("end", () => resume(Effect.succeed({ status: statusCode, headers: answered })))
      })
      request.on("error", (error) => resume(Effect.die(error)))
      request.end(method === "POST" ? body : undefined)
    }
  )

const ping = (url: string, session: string) =>
  request(url, { "Mcp-Session-Id": session }, { body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" }) })

/** Opens a session without a stream and returns its id. */
const begin = (url: string) => Effect.map(request(url), ({ headers }) => String(headers["mcp-session-id"]))

/** Opens a stream until the scope closes; succeeds when it has started. */
const listening = (url: string, session: string) =>
  Effect.gen(function* () {
    const leaving = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort())
    )
    const headers = { Accept: "text/event-stream", "Mcp-Session-Id": session }
    return yield* Effect.promise(() => fetch(url, { headers, signal: leaving.signal }))
  })

const published = (options: Partial<PublishHttpOptions> = {}) =>
  Effect.gen(function* () {
    const server = yield* makeMemoryMcpServer({ tools: [tool("t")] })
    const { url } = yield* publishHttp(yield* server.connect, { port: 0, token: "allowAll", ...options })
    return { server, url }
  })

type Published = Effect.Success<ReturnType<typeof published>>

const live = (title: string, options: Partial<PublishHttpOptions>, body: TestBody<Published>) =>
  liveWith(published(options))(title, body)

const token = Redacted.make("sesame")

describe("publishHttp", () => {
  const box = { allowedHosts: ["box.lan"] }
  const page = { allowedOrigins: ["https://a.example"] }
  const statuses: ReadonlyArray<
    readonly [status: number, title: string, headers: Record<string, string>, options?: Partial<PublishHttpOptions>]
  > = [
    [403, "rejects an unknown host name", { Host: "evil.example.com" }],
    [200, "accepts an allowed host name", { Host: "box.lan:80" }, { allowedHosts: ["Box.lan"] }],
    ...["evil-box.lan", "evil.box.lan", "box.lan.evil.example", "box.la", "ox.lan", "evil-localhost"].map(
      (Host) => [403, `rejects the host name ${Host} when another is allowed`, { Host }, box] as const
    ),
    ...[
      "https://evil-a.example",
      "https://evil.a.example",
      "https://a.example.evil.example",
      "https://a.example:444",
      "http://a.example",
      "a.example"
    ].map((Origin) => [403, `rejects pages of ${Origin} when another origin is allowed`, { Origin }, page] as const),
    [200, "accepts an IP address as host", { Host: "192.0.2.7:80" }],
    [403, "rejects pages of other origins", { Origin: "http://evil.example.com" }],
    [403, "rejects pages with an opaque origin", { Origin: "null" }],
    [200, "accepts pages of an allowed origin", { Origin: "https://a.example" }, page],
    [401, "rejects a request without a token", {}, { token }],
    [401, "rejects a wrong token", { Authorization: "Bearer sesam" }, { token }],
    [401, "rejects the token with a suffix", { Authorization: "Bearer sesamex" }, { token }],
    [401, "rejects the token with a prefix", { Authorization: "Bearer xsesame" }, { token }],
    [200, "accepts the token", { Authorization: "bearer sesame" }, { token }]
  ]
  for (const [status, title, headers, options = {}] of statuses) {
    live(title, options, function* ({ url }) {
      assert.strictEqual((yield* request(url, headers)).status, status)
    })
  }

  it.live("requires a configured token that is not empty", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(published({ token: Redacted.make("") }))
      assert.strictEqual(failure.message, "The token of MCP clients must not be empty")
    })
  )

  live("asks for a bearer token without revealing it", { token }, function* ({ url }) {
    const { headers } = yield* request(url, { Authorization: "Bearer guess" })
    assert.strictEqual(headers["www-authenticate"], "Bearer")
    assert.notInclude(JSON.stringify(headers), "sesame")
  })

  live("answers a CORS preflight without a token", { ...page, token }, function* ({ url }) {
    const { headers, status } = yield* request(url, { Origin: "https://a.example" }, { method: "OPTIONS" })
    assert.deepStrictEqual([status, headers["access-control-allow-origin"]], [204, "https://a.example"])
  })

  for (const path of ["/mcp/", "/mcp/?key=1", "/mcp?key=1"]) {
    live(`serves ${path}`, {}, function* ({ url }) {
      const session = yield* begin(url.replace("/mcp", path))
      assert.strictEqual((yield* ping(url.replace("/mcp", path), session)).status, 200)
    })
  }

  for (const path of ["/other", "/", "/mcp//", "/mcp/x", "/mcps", "/x/mcp/"]) {
    live(`serves no other path: ${path}`, {}, function* ({ url }) {
      assert.strictEqual((yield* request(url.replace("/mcp", path))).status, 404)
    })
  }

  live("checks the token at /mcp/", { token: Redacted.make("a-token-of-sixteen") }, function* ({ url }) {
    assert.strictEqual((yield* request(`${url}/`)).status, 401)
  })

  live("rejects an oversized message with and without Content-Length", { maxMessageBytes: 1000 }, function* ({ url }) {
    const large = { body: JSON.stringify("x".repeat(2000)) }
    assert.strictEqual((yield* request(url, {}, large)).status, 413)
    assert.strictEqual((yield* request(url, { "Transfer-Encoding": "chunked" }, large)).status, 413)
  })

  for (const [what, body] of [
    ["is not JSON", "{"],
    ["is nested too deeply", `${"[".repeat(200)}${"]".repeat(200)}`],
    ["is not a message", "{}"]
  ] as const) {
    live(`rejects a body that ${what}`, {}, function* ({ url }) {
      assert.strictEqual((yield* request(url, {}, { body })).status, 400)
    })
  }

  live("rejects an unknown session", {}, function* ({ url }) {
    assert.strictEqual((yield* ping(url, "00000000-0000-0000-0000-000000000000")).status, 404)
  })

  live("serves and notifies two clients at once", {}, function* ({ server, url }) {
    const clients = [yield* connectHttp(url), yield* connectHttp(url)]
    yield* Effect.forEach(clients, ({ request }) => request("tools/call", { name: "t" }), { concurrency: 2 })
    yield* server.setTools([])
    yield* Effect.forEach(clients, ({ notifications }) =>
      Effect.map(Queue.take(notifications), ({ method }) =>
        assert.strictEqual(method, "notifications/tools/list_changed")
      )
    )
  })

  live("sends no notifications for the subscriptions of another client", {}, function* ({ server, url }) {
    const [first, second] = [yield* connectHttp(url), yield* connectHttp(url)]
    yield* first.subscribe("test://one")
    yield* second.subscribe("test://two")
    yield* server.notify({ _tag: "ResourceUpdated", uri: "test://two" })
    yield* Queue.take(second.notifications)
    yield* server.notify({ _tag: "ResourceUpdated", uri: "test://one" })
    assert.include(yield* Queue.take(first.notifications), { uri: "test://one" })
  })

  live("rejects a new session when all are in use", { maxSessions: 1 }, function* ({ url }) {
    const session = yield* begin(url)
    yield* listening(url, session)
    const { headers, status } = yield* request(url)
    assert.deepStrictEqual([status, headers["retry-after"]], [503, "60"])
  })

  live("accepts a new stream right after the old one was reset", {}, function* ({ url }) {
    const session = yield* begin(url)
    yield* Effect.scoped(listening(url, session))
    const again = yield* Effect.repeat(listening(url, session), { until: ({ status }) => status !== 409 })
    assert.strictEqual(again.status, 200)
  })

  it.live("reports an address in use", () =>
    Effect.gen(function* () {
      const { url } = yield* published()
      const failure = yield* Effect.flip(published({ port: Number(new URL(url).port) }))
      assert.include(failure.message, "the address is in use")
    })
  )

  it.live("stops listening when its scope closes", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(published(loopbackAddress()))
      const failure = yield* Effect.flip(Effect.tryPromise(() => fetch(url)))
      assert.include(String(failure.cause), "fetch failed")
    })
  )
})

describe("a request of MCP 2026-07-28", () => {
  live("gets HTTP 404 for an unknown method", {}, function* ({ url }) {
    const statusOf = (method: string) => {
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "raw", version: "0" },
        "io.modelcontextprotocol/clientCapabilities": {}
      }
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { _meta } })
      const headers = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method }
      return Effect.map(request(url, headers, { body }), ({ status }) => status)
    }
    assert.deepStrictEqual([yield* statusOf("tools/list"), yield* statusOf("acme/unknown")], [200, 404])
  })
})

describe("a message of a published session", () => {
  /** Status of a message of this many bytes. */
  const statusOf = (url: string, bytes: number) =>
    Effect.map(request(url, {}, { body: "x".repeat(bytes) }), ({ status }) => status)

  live("has at most as many bytes as are free", { maxTotalMessageBytes: 100_000 }, function* ({ url }) {
    assert.strictEqual(yield* statusOf(url, 49_000), 400)
    const holding = yield* Scope.make()
    yield* Scope.provide(holdPart(url, 40_000), holding)
    yield* Effect.repeat(statusOf(url, 40_000), { until: (status) => status === 503 })
    assert.strictEqual(yield* statusOf(url, 10_000), 400)
    yield* Scope.close(holding, Exit.void)
    yield* Effect.repeat(statusOf(url, 40_000), { until: (status) => status === 400 })
  })

  it.live.each([
    ["null parameters", '{"jsonrpc":"2.0","id":5,"method":"tools/list","params":null}', "result"],
    ["a list of parameters", '{"jsonrpc":"2.0","id":5,"method":"tools/list","params":[]}', "result"],
    ["null metadata", '{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":null,"cursor":null}}', "result"],
    ["no version", '{"id":5,"method":"ping","error":null}', "result"],
    ["a byte order mark", '\u{feff}{"jsonrpc":"2.0","id":5,"method":"ping"}', "result"],
    ["a number as method", '{"jsonrpc":"2.0","id":5,"method":7}', "error"],
    ["a fraction as id", '{"jsonrpc":"2.0","id":5.5,"method":"ping"}', "error"]
  ] as const)("answers a request with %s", ([, body, expected]) =>
    Effect.gen(function* () {
      const { url } = yield* published()
      const headers = { ...defaultHeaders, "Mcp-Session-Id": yield* begin(url) }
      const text = yield* Effect.promise(async () => (await fetch(url, { method: "POST", headers, body })).text())
      assert.include(text, `"${expected}":`)
      assert.match(text, /"id":5/)
    })
  )
})
