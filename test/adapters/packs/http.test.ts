import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Exit, Fiber, Logger, Queue, Redacted, Scope } from "effect"
import { packageVersion } from "../../../src/domain/packageVersion.ts"
import { loopbackAddress } from "../../loopbackAddress.ts"
import { connectHttp } from "../mcp/publish/clients.ts"
import { request, asking, live, post, raw, served } from "./served.ts"

const key = Redacted.make("sesame")
const json = { "Content-Type": "application/json" }

describe("tool call over HTTP", () => {
  live("returns the result of the tool", {}, function* ({ url }) {
    const { body, headers, status } = yield* post(`${url}/tools/echo`, { text: "字" })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(body, { content: [{ type: "text", text: '{"text":"字"}' }] })
    assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
  })

  const task = { task_id: "t", user_id: "u", account_id: "a", platform: "p", action: "x" }
  const session = { session_id: "s", cdp_url: "ws://127.0.0.1:1" }

  live("takes the task and the session of an execution", {}, function* ({ calls, url }) {
    const { body, status } = yield* post(`${url}/tools/session/execute`, {
      task,
      session,
      payload: { text: "a" },
      options: { timeout: 7, retry: 1 }
    })
    assert.deepStrictEqual([status, body], [200, { content: [{ type: "text", text: '{"text":"a"}' }] }])
    const { execution, params } = yield* Queue.take(calls)
    assert.deepStrictEqual([params, execution], [{ text: "a" }, { ...task, ...session, timeout: 7, retry: 1 }])
  })

  live("ends an execution after its own timeout", {}, function* ({ interrupted, url }) {
    const { body, status } = yield* post(`${url}/tools/echo/execute`, {
      task,
      payload: { do: "hang" },
      options: { timeout: 1 }
    })
    assert.deepStrictEqual([status, body], [504, { detail: "The tool did not answer within 1 seconds" }])
    yield* Deferred.await(interrupted)
  })

  live("rejects an execution without its parts", {}, function* ({ url }) {
    const problems = (given: unknown, path = "echo") =>
      Effect.map(post(`${url}/tools/${path}/execute`, given), ({ body, status }) => [
        status,
        (body as { readonly detail: ReadonlyArray<{ readonly loc: unknown }> }).detail.map(({ loc }) => loc)
      ])
    assert.deepStrictEqual(yield* problems({}), [
      422,
      [
        ["body", "task"],
        ["body", "payload"]
      ]
    ])
    assert.deepStrictEqual(yield* problems({ task: { ...task, user_id: 1 }, payload: [] }), [
      422,
      [
        ["body", "task", "user_id"],
        ["body", "payload"]
      ]
    ])
    assert.deepStrictEqual(yield* problems({ task, payload: {} }, "session"), [422, [["body", "session"]]])
    assert.deepStrictEqual((yield* post(`${url}/tools/none/execute`, { task, payload: {} })).status, 404)
  })

  live("preserves every block, structured content, and isError", {}, function* ({ url }) {
    const { body } = yield* post(`${url}/tools/echo`, { do: "blocks" })
    assert.deepStrictEqual(body, {
      content: [
        { type: "text", text: "a" },
        { type: "image", data: "AA==", mimeType: "image/png" },
        { type: "resource", resource: { uri: "x://y", text: "z" } }
      ],
      structuredContent: { a: 1 },
      isError: true
    })
  })

  for (const [what, status, detail] of [
    ["params", 422, [{ loc: ["body", "text"], msg: "Field required", type: "missing" }]],
    ["unknown", 404, "There is no tool 'echo' any more"],
    ["failed", 500, "the disk is full"],
    ["crashed", 502, "the pack was killed"],
    ["unusable", 503, "the pack does not load"],
    ["timeout", 504, "no result within 120 seconds"],
    ["busy", 503, "too many calls"]
  ] as const) {
    live(`answers ${status} when the outcome is '${what}'`, {}, function* ({ url }) {
      const answer = yield* post(`${url}/tools/echo`, { do: what })
      assert.strictEqual(answer.status, status)
      assert.deepStrictEqual(answer.body, { detail })
      assert.strictEqual(answer.headers.has("retry-after"), status === 503)
    })
  }

  it.live("answers a bug with 500 without details, and logs it", () =>
    Effect.gen(function* () {
      const lines = yield* Queue.unbounded<string>()
      const logger = Logger.make(({ cause }) => void Queue.offerUnsafe(lines, String(cause)))
      yield* Effect.gen(function* () {
        const { url } = yield* served()
        const { body, status } = yield* post(`${url}/tools/echo`, { do: "die" })
        assert.strictEqual(status, 500)
        assert.deepStrictEqual(body, { detail: "Internal Server Error" })
      }).pipe(Effect.scoped, Effect.provide(Logger.layer([logger])))
      assert.include(yield* Queue.take(lines), "secret internals")
    })
  )

  for (const [what, type, status] of [
    ["JSON", "application/json", 200],
    ["JSON in UTF-8", 'application/json; charset="UTF-8"', 200],
    ["JSON with a suffix", "application/vnd.demo+json", 200],
    ["untyped", "", 200],
    ["JSON in another character set", "application/json; charset=latin1", 415],
    ["text", "text/plain", 415],
    ["a form", "application/x-www-form-urlencoded", 415],
    ["a form with files", "multipart/form-data; boundary=x", 415]
  ] as const) {
    live(`answers ${status} to a body that is ${what}`, {}, function* ({ url }) {
      const body = new Blob(['{"text":"a"}'], { type })
      const answer = yield* request(`${url}/tools/echo`, {
        method: "POST",
        body: new Uint8Array(yield* Effect.promise(() => body.arrayBuffer())),
        headers: type === "" ? {} : { "Content-Type": type }
      })
      assert.strictEqual(answer.status, status)
    })
  }

  live("rejects a compressed body", {}, function* ({ url }) {
    const answer = yield* post(`${url}/tools/echo`, {}, { ...json, "Content-Encoding": "gzip" })
    assert.strictEqual(answer.status, 415)
  })

  for (const [text, position] of [
    ["{", 1],
    ['{"a":x}', 5],
    ["[1,]", 3],
    ['{"a":1}}', 7],
    ["{a}", 1],
    ["[".repeat(100_000) + "x", 0]
  ] as const) {
    live(`locates the error in ${text.slice(0, 10)}`, {}, function* ({ url }) {
      const { body, status } = yield* post(`${url}/tools/echo`, text)
      assert.strictEqual(status, 422)
      assert.deepStrictEqual(body, {
        detail: [{ loc: ["body", position], msg: "JSON decode error", type: "json_invalid" }]
      })
    })
  }

  for (const [what, text, type] of [
    ["nothing", "", "missing"],
    ["a list", "[]", "model_attributes_type"],
    ["nested too deeply", `{"a":${"[".repeat(200)}${"]".repeat(200)}}`, "value_error"],
    ["a prototype", '{"__proto__":{}}', "value_error"]
  ] as const) {
    live(`refuses parameters that are ${what}`, {}, function* ({ calls, url }) {
      const { body, status } = yield* post(`${url}/tools/echo`, text)
      assert.strictEqual(status, 422)
      assert.include(JSON.stringify(body), `"loc":["body"]`)
      assert.include(JSON.stringify(body), `"type":"${type}"`)
      assert.strictEqual(yield* Queue.size(calls), 0)
    })
  }

  live("rejects a body that is not UTF-8", {}, function* ({ url }) {
    const answer = yield* request(`${url}/tools/echo`, {
      method: "POST",
      headers: json,
      body: new Uint8Array([0x22, 0xff, 0x22])
    })
    assert.strictEqual(answer.status, 422)
  })

  live("rejects a body above the limit, with or without a length", { maxBodyBytes: 1000 }, function* (world) {
    const head = `POST /tools/echo HTTP/1.1\r\nHost: localhost\r\n`
    const text = JSON.stringify("x".repeat(200_000))
    const withLength = yield* raw(world.url, `${head}Content-Length: ${text.length}\r\n\r\n${text}`)
    const withoutLength = yield* raw(
      world.url,
      `${head}Transfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
    )
    for (const answer of [withLength, withoutLength]) {
      assert.match(answer, /^HTTP\/1.1 413 .*Connection: close/s)
      assert.include(answer, "exceeds the limit of 1000 bytes")
    }
    assert.strictEqual((yield* post(`${world.url}/tools/echo`, { text: "x".repeat(989) })).status, 200)
  })

  live("gives a client that still sends time to read the reply", { maxBodyBytes: 1000 }, function* ({ url }) {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    const began = yield* Clock.currentTimeMillis
    const sending = Effect.callback<void>((resume) => {
      socket.on("data", () => resume(Effect.void))
      socket.on("error", () => undefined)
      socket.write("POST /tools/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n")
      socket.write(Buffer.alloc(8_000_000))
    })
    yield* sending
    yield* Effect.callback<void>((resume) => void socket.on("close", () => resume(Effect.void)))
    assert.isAbove((yield* Clock.currentTimeMillis) - began, 500)
  })

  live("never asks for a body that it will not read", { key }, function* ({ url }) {
    const head = `POST /tools/echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n`
    const rejected = yield* raw(url, `${head}Content-Length: 900000\r\n\r\n`)
    assert.match(rejected, /^HTTP\/1.1 401 /)
    const requests = yield* Effect.forkChild(
      raw(url, `${head}X-API-Key: sesame\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`)
    )
    assert.match(yield* Fiber.join(requests), /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 /)
  })

  live("keeps the connection after rejecting a small body", { key }, function* ({ url }) {
    const request = (more: string) =>
      `POST /tools/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n${more}\r\n{}`
    const both = yield* raw(url, request("") + request("X-API-Key: sesame\r\nConnection: close\r\n"))
    assert.match(both, /^HTTP\/1.1 401 .*HTTP\/1.1 200 /s)
  })

  live("interrupts the call of a client that disconnects", {}, function* ({ calls, interrupted, url }) {
    const client = yield* asking(`${url}/tools/echo`, {
      method: "POST",
      headers: json,
      body: '{"do":"hang"}'
    })
    yield* Queue.take(calls)
    yield* Fiber.interrupt(client)
    yield* Deferred.await(interrupted)
  })
})

describe("tool server page", () => {
  for (const [method, path, status, allow] of [
    ["POST", "/tools/none", 404, null],
    ["GET", "/tools/echo", 405, "POST"],
    ["DELETE", "/tools/echo", 405, "POST"],
    ["POST", "/tools", 405, "GET, HEAD"],
    ["OPTIONS", "/health", 405, "GET, HEAD"]
  ] as const) {
    live(`answers ${status} to ${method} ${path}`, {}, function* ({ url }) {
      const answer = yield* request(`${url}${path}`, { method })
      assert.deepStrictEqual([answer.status, answer.headers.get("allow")], [status, allow])
      if (status === 404) assert.deepStrictEqual(answer.body, { detail: "Not Found" })
    })
  }

  for (const [what, path, expected] of [
    ["version", "/", { message: "The tool server is up", version: packageVersion, tools_count: 5 }],
    ["health", "/health?now", { status: "healthy" }]
  ] as const) {
    live(`returns the ${what} of the server`, {}, function* ({ url }) {
      assert.deepStrictEqual((yield* request(`${url}${path}`)).body, expected)
    })
  }

  live("lists tools and packs", {}, function* ({ url }) {
    const { body } = yield* request(`${url}/tools`)
    const params = { type: "object", properties: { text: { type: "string" } } }
    assert.containSubset(body, {
      tools: [
        {
          name: "echo",
          description: "The tool echo",
          inputSchema: params,
          pack: "demo",
          endpoint: "/tools/echo"
        },
        {},
        {},
        { name: "hidden" }
      ],
      packs: [
        {
          name: "malformed",
          status: "failed",
          reason: "it does not compile",
          warnings: [],
          routes: []
        },
        {
          name: "demo",
          description: "Says what it got",
          usage: "Give it something",
          status: "ready",
          warnings: ["the tool 'hidden' has no route"],
          routes: [
            { endpoint: "/tools/echo", tool: "echo", useForm: false },
            { endpoint: "/tools/form", tool: "form", useForm: true },
            {}
          ]
        }
      ]
    })
    assert.notInclude(JSON.stringify(body), '"endpoint":"/tools/hidden"')
  })

  live("returns the OpenAPI document", {}, function* ({ url }) {
    const { body } = yield* request(`${url}/openapi.json`)
    assert.containSubset(body, { openapi: "3.1.0", paths: { "/tools/echo": { post: {} } } })
  })

  for (const path of ["/", "/health", "/tools", "/openapi.json", "/docs"]) {
    live(`answers HEAD ${path} without a body`, {}, function* ({ url }) {
      const got = yield* request(`${url}${path}`)
      const { body, headers, status } = yield* request(`${url}${path}`, { method: "HEAD" })
      assert.strictEqual(status, 200)
      assert.strictEqual(body, "")
      assert.strictEqual(headers.get("content-length"), got.headers.get("content-length"))
    })
  }

  it.live("explains that its address is in use", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const failure = yield* Effect.flip(served({ port: Number(new URL(url).port) }))
      assert.include(failure.message, "the address is in use")
    })
  )
})

describe("tool server access", () => {
  it.live("rejects an empty key in its options", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(served({ key: Redacted.make("") }))
      assert.include(failure.message, "empty")
    })
  )

  for (const [shown, headers, status] of [
    ["no key", {}, 401],
    ["a wrong key", { "X-API-Key": "sesam" }, 401],
    ["the key with a suffix", { "X-API-Key": "sesamex" }, 401],
    ["an empty key", { "X-API-Key": "" }, 401],
    ["a wrong bearer token", { Authorization: "Bearer sesam" }, 401],
    ["a bearer token with a suffix", { Authorization: "Bearer sesamex" }, 401],
    ["the key in another scheme", { Authorization: "Basic sesame" }, 401],
    ["the key", { "X-API-Key": "sesame" }, 200],
    ["the key as bearer token", { Authorization: "Bearer sesame" }, 200],
    ["the key beside a wrong token", { Authorization: "Bearer x", "X-API-Key": "sesame" }, 200]
  ] as const) {
    live(`answers ${status} to ${shown}`, { key }, function* ({ url }) {
      const called = yield* post(`${url}/tools/echo`, {}, { ...json, ...headers })
      const listed = yield* request(`${url}/tools`, { headers })
      assert.deepStrictEqual([called.status, listed.status], [status, status])
      if (status === 401) assert.deepStrictEqual(called.body, { detail: "Invalid API key" })
    })
  }

  for (const path of ["/", "/health"]) {
    live(`shows ${path} without a key`, { key }, function* ({ url }) {
      assert.strictEqual((yield* request(`${url}${path}`)).status, 200)
    })
  }

  const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString("base64")}` })

  for (const path of ["/openapi.json", "/docs"]) {
    live(`shows ${path} with the key, which a browser asks for as password`, { key }, function* ({ url }) {
      for (const headers of [{}, { "X-API-Key": "sesam" }, basic("u:sesam"), basic("sesame"), basic(":")]) {
        const answer = yield* request(`${url}${path}`, { headers })
        assert.strictEqual(answer.status, 401)
        assert.match(answer.headers.get("www-authenticate") ?? "", /^Basic realm=/)
      }
      const accepted = [
        { "X-API-Key": "sesame" },
        { Authorization: "Bearer sesame" },
        basic(":sesame"),
        basic("u:sesame")
      ]
      for (const headers of accepted) {
        assert.strictEqual((yield* request(`${url}${path}`, { headers })).status, 200)
      }
    })

    live(`shows ${path} without the key when documentation is public`, { key, publicDocs: true }, function* ({ url }) {
      assert.strictEqual((yield* request(`${url}${path}`)).status, 200)
    })
  }

  live("accepts no password for calls, and lets no browser ask for one", { key }, function* ({ url }) {
    const called = yield* post(`${url}/tools/echo`, {}, { ...json, ...basic(":sesame") })
    assert.deepStrictEqual([called.status, called.headers.get("www-authenticate")], [401, "Bearer"])
  })

  live("rejects pages of other origins", {}, function* ({ calls, url }) {
    const { status } = yield* post(`${url}/tools/echo`, {}, { ...json, Origin: "http://evil.example.com" })
    assert.strictEqual(status, 403)
    assert.strictEqual(yield* Queue.size(calls), 0)
  })

  live("accepts pages of the same origin", {}, function* ({ url }) {
    assert.strictEqual((yield* post(`${url}/tools/echo`, {}, { ...json, Origin: url })).status, 200)
  })

  const similar = { allowedHosts: ["box.lan"], allowedOrigins: ["https://a.example"] }
  live("rejects names and origins that end like allowed ones", similar, function* ({ url }) {
    for (const header of ["Host: evil-box.lan", "Host: box.lan\r\nOrigin: https://evil-a.example"]) {
      const answer = yield* raw(url, `GET /tools HTTP/1.1\r\n${header}\r\nConnection: close\r\n\r\n`)
      assert.match(answer, /^HTTP\/1.1 403 /, header)
    }
    const answer = yield* raw(url, "GET /tools HTTP/1.1\r\nHost: BOX.lan:80\r\nConnection: close\r\n\r\n")
    assert.match(answer, /^HTTP\/1.1 200 /)
  })

  live("rejects an unknown host name", {}, function* ({ url }) {
    const answer = yield* raw(url, "GET /tools HTTP/1.1\r\nHost: evil.example.com\r\nConnection: close\r\n\r\n")
    assert.match(answer, /^HTTP\/1.1 403 /)
  })

  const listed = { allowedOrigins: ["https://a.example"], key }
  live("answers preflight requests of an allowed origin, and exposes the replies", listed, function* ({ url }) {
    const Origin = "https://a.example"
    const before = yield* request(`${url}/tools/echo`, { method: "OPTIONS", headers: { Origin } })
    assert.strictEqual(before.status, 204)
    assert.include(before.headers.get("access-control-allow-headers") ?? "", "x-api-key")
    const { headers, status } = yield* post(`${url}/tools/echo`, {}, { ...json, Origin, "X-API-Key": "sesame" })
    assert.strictEqual(status, 200)
    assert.strictEqual(headers.get("access-control-allow-origin"), Origin)
  })
})

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "0" } }
}
const accept = { ...json, Accept: "application/json, text/event-stream" }

describe("MCP endpoint", () => {
  for (const path of ["/mcp", "/mcp/", "/mcp/?key=1"]) {
    live(`serves a client of the SDK at ${path}`, {}, function* ({ url }) {
      const { request } = yield* connectHttp(`${url}${path}`)
      const { content } = yield* request("tools/call", { name: "echo", arguments: { a: 1 } })
      assert.deepStrictEqual(content, [{ type: "text", text: '{"a":1}' }])
    })
  }

  for (const [headers, status] of [
    [{}, 401],
    [{ "X-API-Key": "guess" }, 401],
    [{ "X-API-Key": "sesame" }, 200],
    [{ Authorization: "Bearer sesame" }, 200]
  ] as const) {
    live(`answers ${status} to ${JSON.stringify(headers)}`, { key }, function* ({ url }) {
      assert.strictEqual((yield* post(`${url}/mcp`, initialize, { ...accept, ...headers })).status, status)
    })
  }

  live("checks origins", {}, function* ({ url }) {
    const headers = { ...accept, Origin: "http://evil.example.com" }
    assert.strictEqual((yield* post(`${url}/mcp`, initialize, headers)).status, 403)
  })
})

describe("tool server shutdown", () => {
  /** A server with an in-flight call on a keep-alive connection, and its scope. */
  const calling = Effect.gen(function* () {
    const scope = yield* Scope.make()
    const world = yield* Scope.provide(served(loopbackAddress()), scope)
    const { hostname, port } = new URL(world.url)
    const socket = connect(Number(port), hostname)
    const answer = yield* Effect.forkChild(
      Effect.callback<string>((resume) => {
        let text = ""
        socket.on("data", (chunk) => (text += String(chunk)))
        socket.on("close", () => resume(Effect.succeed(text)))
      })
    )
    const body = '{"do":"hang"}'
    socket.write(`POST /tools/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    yield* Queue.take(world.calls)
    return { ...world, answer, close: Scope.close(scope, Exit.void) }
  })

  /** Runs a shutdown several times: a busy machine does not delay all of them beyond the shutdown timeout. */
  const beforeTimeout = (title: string, shutdown: () => Effect.fn.Return<void, unknown, Scope.Scope>) =>
    it.live(title, () =>
      Effect.gen(function* () {
        const attempts = yield* Effect.forEach([1, 2, 3], () => Effect.timed(Effect.scoped(Effect.gen(shutdown))))
        assert.isBelow(Math.min(...attempts.map(([duration]) => Duration.toMillis(duration))), 2000)
      })
    )

  beforeTimeout("waits for an in-flight call only", function* () {
    const { answer, close, release, url } = yield* calling
    const closing = yield* Effect.forkChild(close)
    yield* Effect.eventually(Effect.flip(Effect.tryPromise(() => fetch(url))))
    yield* Deferred.succeed(release, undefined)
    yield* Fiber.join(closing)
    assert.match(yield* Fiber.join(answer), /^HTTP\/1.1 200 .*Connection: close/s)
  })

  it.live("interrupts a call that exceeds the shutdown timeout", () =>
    Effect.gen(function* () {
      const { answer, close, interrupted } = yield* calling
      yield* close
      yield* Deferred.await(interrupted)
      assert.strictEqual(yield* Fiber.join(answer), "")
    })
  )

  beforeTimeout("closes streams of MCP clients at once", function* () {
    const scope = yield* Scope.make()
    const { url } = yield* Scope.provide(served(), scope)
    const { headers } = yield* post(`${url}/mcp`, initialize, accept)
    const session = { Accept: "text/event-stream", "Mcp-Session-Id": headers.get("mcp-session-id") ?? "" }
    yield* Effect.promise(() => fetch(`${url}/mcp`, { headers: session }))
    yield* Scope.close(scope, Exit.void)
  })
})
