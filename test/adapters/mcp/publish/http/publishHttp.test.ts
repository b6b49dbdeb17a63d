import { request as httpRequest } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Queue, Redacted, Scope } from "effect"
import { makeMemoryMcpServer } from "../../../../../src/adapters/memory/MemoryMcp.ts"
import { publishHttp, type PublishHttpOptions } from "../../../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { loopbackAddress } from "../../../../loopbackAddress.ts"
import { connectHttp } from "../clients.ts"

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
    const server = yield* makeMemoryMcpServer({
      tools: [
        {
          definition: { name: "t", inputSchema: { type: "object" } },
          run: () => Effect.succeed({ content: [] })
        }
      ]
    })
    const { url } = yield* publishHttp(yield* server.connect, { port: 0, token: "allowAll", ...options })
    return { server, url }
  })

type Published = Effect.Success<ReturnType<typeof published>>

const live = (
  title: string,
  options: Partial<PublishHttpOptions>,
  body: (world: Published) => Effect.Effect<void, unknown, Scope.Scope>
) => it.live(title, () => Effect.flatMap(published(options), body))

/** Tests the status of a request with these headers. */
const answers = (
  status: number,
  title: string,
  headers: Record<string, string>,
  options: Partial<PublishHttpOptions> = {}
) =>
  live(title, options, ({ url }) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* request(url, headers)).status, status)
    })
  )

const token = Redacted.make("sesame")

describe("publishHttp", () => {
  answers(403, "rejects an unknown host name", { Host: "evil.example.com" })
  answers(200, "accepts an allowed host name", { Host: "box.lan:80" }, { allowedHosts: ["Box.lan"] })
  for (const Host of ["evil-box.lan", "evil.box.lan", "box.lan.evil.example", "box.la", "ox.lan", "evil-localhost"]) {
    answers(403, `rejects the host name ${Host} when another is allowed`, { Host }, { allowedHosts: ["box.lan"] })
  }
  for (const Origin of [
    "https://evil-a.example",
    "https://evil.a.example",
    "https://a.example.evil.example",
    "https://a.example:444",
    "http://a.example",
    "a.example"
  ]) {
    answers(
      403,
      `rejects pages of ${Origin} when another origin is allowed`,
      { Origin },
      {
        allowedOrigins: ["https://a.example"]
      }
    )
  }
  answers(200, "accepts an IP address as host", { Host: "192.0.2.7:80" })
  answers(403, "rejects pages of other origins", { Origin: "http://evil.example.com" })
  answers(403, "rejects pages with an opaque origin", { Origin: "null" })
  answers(
    200,
    "accepts pages of an allowed origin",
    { Origin: "https://a.example" },
    {
      allowedOrigins: ["https://a.example"]
    }
  )
  answers(401, "rejects a request without a token", {}, { token })
  answers(401, "rejects a wrong token", { Authorization: "Bearer sesam" }, { token })
  answers(401, "rejects the token with a suffix", { Authorization: "Bearer sesamex" }, { token })
  answers(401, "rejects the token with a prefix", { Authorization: "Bearer xsesame" }, { token })
  it.live("requires a configured token that is not empty", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(published({ token: Redacted.make("") }))
      assert.strictEqual(failure.message, "The token of MCP clients must not be empty")
    })
  )
  answers(200, "accepts the token", { Authorization: "bearer sesame" }, { token })

  live("asks for a bearer token without revealing it", { token }, ({ url }) =>
    Effect.gen(function* () {
      const { headers } = yield* request(url, { Authorization: "Bearer guess" })
      assert.strictEqual(headers["www-authenticate"], "Bearer")
      assert.notInclude(JSON.stringify(headers), "sesame")
    })
  )

  live(
    "answers a CORS preflight without a token",
    {
      allowedOrigins: ["https://a.example"],
      token
    },
    ({ url }) =>
      Effect.gen(function* () {
        const { headers, status } = yield* request(url, { Origin: "https://a.example" }, { method: "OPTIONS" })
        assert.strictEqual(status, 204)
        assert.strictEqual(headers["access-control-allow-origin"], "https://a.example")
      })
  )

  for (const path of ["/mcp/", "/mcp/?key=1", "/mcp?key=1"]) {
    live(`serves ${path}`, {}, ({ url }) =>
      Effect.gen(function* () {
        const session = yield* begin(url.replace("/mcp", path))
        assert.strictEqual((yield* ping(url.replace("/mcp", path), session)).status, 200)
      })
    )
  }

  for (const path of ["/other", "/", "/mcp//", "/mcp/x", "/mcps", "/x/mcp/"]) {
    live(`serves no other path: ${path}`, {}, ({ url }) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* request(url.replace("/mcp", path))).status, 404)
      })
    )
  }

  live("checks the token at /mcp/", { token: Redacted.make("a-token-of-sixteen") }, ({ url }) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* request(`${url}/`)).status, 401)
    })
  )

  live("rejects an oversized message with and without Content-Length", { maxMessageBytes: 1000 }, ({ url }) =>
    Effect.gen(function* () {
      const large = { body: JSON.stringify("x".repeat(2000)) }
      assert.strictEqual((yield* request(url, {}, large)).status, 413)
      assert.strictEqual((yield* request(url, { "Transfer-Encoding": "chunked" }, large)).status, 413)
    })
  )

  for (const [what, body, status] of [
    ["is not JSON", "{", 400],
    ["is nested too deeply", `${"[".repeat(200)}${"]".repeat(200)}`, 400],
    ["is not a message", "{}", 400]
  ] as const) {
    live(`rejects a body that ${what}`, {}, ({ url }) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* request(url, {}, { body })).status, status)
      })
    )
  }

  live("rejects an unknown session", {}, ({ url }) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ping(url, "00000000-0000-0000-0000-000000000000")).status, 404)
    })
  )

  live("serves and notifies two clients at once", {}, ({ server, url }) =>
    Effect.gen(function* () {
      const clients = [yield* connectHttp(url), yield* connectHttp(url)]
      yield* Effect.forEach(clients, ({ request }) => request("tools/call", { name: "t" }), {
        concurrency: 2
      })
      yield* server.setTools([])
      yield* Effect.forEach(clients, ({ notifications }) =>
        Effect.map(Queue.take(notifications), ({ method }) =>
          assert.strictEqual(method, "notifications/tools/list_changed")
        )
      )
    })
  )

  live("sends no notifications for the subscriptions of another client", {}, ({ server, url }) =>
    Effect.gen(function* () {
      const [first, second] = [yield* connectHttp(url), yield* connectHttp(url)]
      yield* first.subscribe("test://one")
      yield* second.subscribe("test://two")
      yield* server.notify({ _tag: "ResourceUpdated", uri: "test://two" })
      yield* Queue.take(second.notifications)
      yield* server.notify({ _tag: "ResourceUpdated", uri: "test://one" })
      assert.include(yield* Queue.take(first.notifications), { uri: "test://one" })
    })
  )

  live("shares one watch between clients until the last one unsubscribes", {}, ({ server, url }) =>
    Effect.gen(function* () {
      const uri = "test://one"
      const [first, second] = [yield* connectHttp(url), yield* connectHttp(url)]
      yield* first.subscribe(uri)
      yield* second.subscribe(uri)
      assert.deepStrictEqual(server.subscriptions(), [uri])
      yield* first.request("resources/unsubscribe", { uri })
      yield* server.notify({ _tag: "ResourceUpdated", uri })
      assert.include(yield* Queue.take(second.notifications), { uri })
      yield* second.request("resources/unsubscribe", { uri })
      assert.deepStrictEqual(server.subscriptions(), [])
    })
  )

  live("evicts the longest idle session for a new one", { maxSessions: 2 }, ({ url }) =>
    Effect.gen(function* () {
      const first = yield* begin(url)
      const second = yield* begin(url)
      yield* ping(url, first)
      const third = yield* begin(url)
      const statuses = yield* Effect.forEach([first, second, third], (id) =>
        Effect.map(ping(url, id), ({ status }) => status)
      )
      assert.deepStrictEqual(statuses, [200, 404, 200])
    })
  )

  live("rejects a new session when all are in use", { maxSessions: 1 }, ({ url }) =>
    Effect.gen(function* () {
      const session = yield* begin(url)
      yield* listening(url, session)
      const { headers, status } = yield* request(url)
      assert.strictEqual(status, 503)
      assert.strictEqual(headers["retry-after"], "60")
    })
  )

  live("accepts a new stream right after the old one was reset", {}, ({ url }) =>
    Effect.gen(function* () {
      const session = yield* begin(url)
      yield* Effect.scoped(listening(url, session))
      const again = yield* Effect.repeat(listening(url, session), { until: ({ status }) => status !== 409 })
      assert.strictEqual(again.status, 200)
    })
  )

  live("closes idle sessions", { idleTimeout: "20 millis" }, ({ url }) =>
    Effect.gen(function* () {
      const session = yield* begin(url)
      const { status } = yield* Effect.repeat(Effect.delay(ping(url, session), "40 millis"), {
        until: (answer) => answer.status === 404
      })
      assert.strictEqual(status, 404)
    })
  )

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

describe("a message of a published session", () => {
  /** Status of a message of this many bytes. */
  const statusOf = (url: string, bytes: number) =>
    Effect.map(request(url, {}, { body: "x".repeat(bytes) }), ({ status }) => status)

  live("has at most as many bytes as are free", { maxTotalMessageBytes: 100_000 }, ({ url }) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* statusOf(url, 49_000), 400)
      const holding = yield* Scope.make()
      yield* Scope.provide(holdPart(url, 40_000), holding)
      yield* Effect.repeat(statusOf(url, 40_000), { until: (status) => status === 503 })
      assert.strictEqual(yield* statusOf(url, 10_000), 400)
      yield* Scope.close(holding, Exit.void)
      yield* Effect.repeat(statusOf(url, 40_000), { until: (status) => status === 400 })
    })
  )

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
