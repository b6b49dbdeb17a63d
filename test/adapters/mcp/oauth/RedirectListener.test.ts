import { connect, Server } from "node:net"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { listenForRedirect } from "../../../../src/adapters/mcp/oauth/RedirectListener.ts"

const send = (url: string, query: Record<string, string>, method = "GET") =>
  Effect.promise(async () => {
    const target = new URL(url)
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value)
    const response = await fetch(target, { method })
    await response.text()
    return response
  })

/** Opens a connection, which closes with the scope. */
const open = (port: number, host: string) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof connect>, Error>((resume) => {
      const socket = connect({ port, host }, () => resume(Effect.succeed(socket)))
      socket.on("error", (error) => resume(Effect.fail(error)))
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

describe("redirect listener", () => {
  it.live.each([
    ["received", 200],
    ["declined", 200],
    ["with another state", 400],
    ["not found", 404]
  ] as const)("protects its page from caches, referrers and sniffing: %s", ([page, status]) =>
    Effect.gen(function* () {
      const { state, url } = yield* listenForRedirect
      const queries = {
        received: { state, code: "c" },
        declined: { state, error: "access_denied" },
        "with another state": { state: "other", code: "c" },
        "not found": {}
      }
      const { headers, status: seen } = yield* send(page === "not found" ? `${url}/other` : url, queries[page])
      const names = ["content-type", "cache-control", "referrer-policy", "x-content-type-options", "connection"]
      assert.deepStrictEqual(
        [seen, ...names.map((name) => headers.get(name))],
        [status, "text/plain; charset=utf-8", "no-store", "no-referrer", "nosniff", "close"]
      )
    })
  )

  it.live.each([
    ["and the issuer", { code: "c", iss: "https://id.example" }, { code: "c", iss: "https://id.example" }],
    ["alone when the redirect has no issuer", { code: "c" }, { code: "c", iss: undefined }]
  ] as const)("returns the code %s", ([, query, expected]) =>
    Effect.gen(function* () {
      const { response, state, url } = yield* listenForRedirect
      yield* send(url, { state, ...query })
      assert.deepStrictEqual(yield* response, expected)
    })
  )

  it.live.each(["/", "/favicon.ico", "//", "/callback/x"])("responds with 404 to the path %s", (path) =>
    Effect.gen(function* () {
      const { origin } = new URL((yield* listenForRedirect).url)
      assert.strictEqual((yield* send(`${origin}${path}`, {})).status, 404)
    })
  )

  it.live("fails with unauthorized when the redirect has an error", () =>
    Effect.gen(function* () {
      const { response, state, url } = yield* listenForRedirect
      yield* send(url, { state, error: "access_denied", code: "c" })
      assert.strictEqual((yield* Effect.flip(response)).reason, "unauthorized")
    })
  )

  it.live.each(["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])("ignores a redirect with the method %s", (method) =>
    Effect.gen(function* () {
      const { response, state, url } = yield* listenForRedirect
      assert.strictEqual((yield* send(url, { state, code: "forged" }, method)).status, 404)
      yield* send(url, { state, code: "c" })
      assert.strictEqual((yield* response).code, "c")
    })
  )

  it.live.each([
    ["without code and error", {}, false],
    ["with another state", { state: "other", code: "forged" }, true],
    ["without a state", { code: "forged" }, true],
    ["with an empty state", { state: "", code: "forged" }, true],
    ["with an error and another state", { state: "other", error: "access_denied" }, true]
  ] as const)("ignores a redirect %s", ([, query, hasOwnState]) =>
    Effect.gen(function* () {
      const { response, state, url } = yield* listenForRedirect
      assert.strictEqual((yield* send(url, hasOwnState ? query : { state, ...query })).status, 400)
      yield* send(url, { state, code: "c" })
      assert.strictEqual((yield* response).code, "c")
    })
  )

  it.live("closes connections above its limit", () =>
    Effect.gen(function* () {
      const { hostname, port } = new URL((yield* listenForRedirect).url)
      for (let count = 0; count < 16; count += 1) yield* open(Number(port), hostname)
      const received = yield* Effect.callback<string>((resume) => {
        let text = ""
        const socket = connect({ port: Number(port), host: hostname })
        socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
        socket.on("error", () => undefined).on("close", () => resume(Effect.succeed(text)))
        socket.end("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
      })
      assert.strictEqual(received, "")
    })
  )

  it.live("listens on 127.0.0.1 only", () =>
    Effect.gen(function* () {
      const { port } = new URL((yield* listenForRedirect).url)
      yield* open(Number(port), "127.0.0.1")
      yield* Effect.flip(open(Number(port), "127.0.0.2"))
    })
  )

  it.live("fails with unavailable when it cannot listen", () =>
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          vi.spyOn(Server.prototype, "listen").mockImplementation(() => {
            throw new Error("too many open files")
          })
        ),
        (listen) => Effect.sync(() => listen.mockRestore())
      )
      const failure = yield* Effect.flip(listenForRedirect)
      assert.strictEqual(failure.reason, "unavailable")
      assert.include(failure.message, "too many open files")
    })
  )
})
