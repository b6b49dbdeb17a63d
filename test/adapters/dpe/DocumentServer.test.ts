import { request } from "node:http"
import { connect, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type DocumentServerOptions, makeDocumentServer } from "../../../src/adapters/dpe/DocumentServer.ts"
import type { ResolveDpe } from "../../../src/application/computer/ComputerSettings.ts"
import { loopbackAddress } from "../../loopbackAddress.ts"
import { bytesAt, requestOf, textRequest } from "./requests.ts"
import { type TestBody, effectWith } from "../../testWith.ts"

const get = (uri: string, options: RequestInit = {}) =>
  Effect.promise(async () => {
    const response = await fetch(uri, options)
    return { status: response.status, headers: response.headers, body: await response.text() }
  })

const statusOf = (uri: string, options: RequestInit = {}) => Effect.map(get(uri, options), ({ status }) => status)

/** The status for a raw request target, which `fetch` would normalize. */
const statusOfTarget = (url: string, path: string) =>
  Effect.callback<number | undefined>((resume) => {
    const { hostname, port } = new URL(url)
    request({ hostname, port, path }, (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode))
    }).end()
  })

const uriOf = (resolve: ResolveDpe, text: string, uri?: string) =>
  Effect.map(resolve(textRequest(text, uri)), (found) => found.uri)

/** A TCP connection; `closed` is done when either end closes it. */
const connection = Effect.fnUntraced(function* (url: string, sends = "") {
  const { hostname, port } = new URL(url)
  const closed = yield* Deferred.make<void>()
  const socket: Socket = yield* Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const opened = connect(Number(port), hostname, () => resume(Effect.succeed(opened)))
    }),
    (opened) => Effect.sync(() => opened.destroy())
  )
  socket.on("error", () => undefined)
  socket.once("close", () => Deferred.doneUnsafe(closed, Effect.void))
  socket.write(sends)
  return { socket, closed: Deferred.await(closed) }
})

type Served = Effect.Success<ReturnType<typeof makeDocumentServer>>
const effect = (title: string, options: DocumentServerOptions, body: TestBody<Served>) =>
  effectWith(makeDocumentServer(options))(title, body)

describe("DocumentServer document", () => {
  effect("carries headers that prevent caching and rendering", {}, function* ({ resolve }) {
    const { body, headers, status } = yield* get(yield* uriOf(resolve, "grün"))
    assert.deepStrictEqual([status, body], [200, "grün"])
    assert.deepInclude(Object.fromEntries(headers), {
      "content-type": "text/plain; charset=utf-8",
      "content-length": "5",
      "cache-control": "private, no-store",
      "x-content-type-options": "nosniff",
      "content-disposition": "attachment"
    })
    assert.isNull(headers.get("access-control-allow-origin"))
  })

  effect("keeps its MIME type unless it is UTF-8 text", {}, function* ({ resolve }) {
    const typeOf = (content: { text?: string; blob?: string; mimeType: string }) =>
      Effect.gen(function* () {
        const { uri } = yield* resolve(requestOf([content]))
        return (yield* get(uri)).headers.get("content-type")
      })
    assert.strictEqual(yield* typeOf({ blob: "", mimeType: "text/html" }), "text/html")
    assert.strictEqual(yield* typeOf({ text: "{}", mimeType: "application/json" }), "application/json")
    assert.strictEqual(yield* typeOf({ text: "", mimeType: "text/html; charset=ascii" }), "text/html; charset=utf-8")
  })

  effect("responds to HEAD like GET, without a body", {}, function* ({ resolve }) {
    const uri = yield* uriOf(resolve, "hello")
    const [got, head] = [yield* get(uri), yield* get(uri, { method: "HEAD" })]
    const withoutDate = ({ headers }: typeof got) => [...headers].filter(([name]) => name !== "date")
    assert.deepStrictEqual([head.status, head.body], [200, ""])
    assert.deepStrictEqual(withoutDate(head), withoutDate(got))
  })

  effect("responds until its expiry, then gives 410", {}, function* ({ resolve }) {
    const uri = yield* uriOf(resolve, "a")
    yield* TestClock.adjust("899999 millis")
    assert.strictEqual(yield* statusOf(uri), 200)
    yield* TestClock.adjust("1 millis")
    assert.deepInclude(yield* get(uri), { status: 410, body: "" })
    assert.strictEqual(yield* statusOf(uri, { method: "HEAD" }), 410)
  })

  effect(
    "gets a new URL on each request, while the old URL keeps its expiry",
    { lifetime: "1 hour" },
    function* ({ resolve }) {
      const first = yield* uriOf(resolve, "a")
      yield* TestClock.adjust("30 minutes")
      const second = yield* uriOf(resolve, "a")
      assert.deepStrictEqual([yield* statusOf(first), yield* statusOf(second)], [200, 200])
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual([yield* statusOf(first), yield* statusOf(second)], [410, 200])
    }
  )

  effect("supports an infinite lifetime", { lifetime: "Infinity" }, function* ({ resolve }) {
    const { metadata, uri } = yield* resolve(textRequest("a"))
    assert.strictEqual(yield* statusOf(uri), 200)
    assert.deepStrictEqual(metadata, { expires_at: "+275760-09-13T00:00:00.000Z" })
  })
})

describe("DocumentServer rejection", () => {
  effect("responds with the same empty 404 to every invalid request", {}, function* ({ resolve, url }) {
    const other = yield* makeDocumentServer()
    const signed = (yield* uriOf(resolve, "a")).slice(url.length)
    const expires = /expires=(\d+)/.exec(signed)?.[1] ?? ""
    const wrong = {
      "another process's signature": (yield* uriOf(other.resolve, "a")).slice(other.url.length),
      "no signature": signed.replace(/&signature=.*/, ""),
      "an empty signature": signed.replace(/signature=.*/, "signature="),
      "a longer signature": `${signed}A`,
      "another expiry": signed.replace(expires, String(Number(expires) + 1)),
      "an expiry spelled otherwise": signed.replace(expires, `0${expires}`),
      "two expiries": `${signed}&expires=9999999999999`,
      "nothing but the path": signed.replace(/\?.*/, ""),
      "another spelling of the path": signed.replace("/dpe/", "/x/../dpe/"),
      "a doubled slash": `/${signed}`,
      "a path below": signed.replace("?", "/x?"),
      "a folder": "/dpe/",
      "the root": "/",
      "a file of the host": "/dpe/../../../../../etc/passwd",
      "a NUL": "/dpe/%00"
    }
    assert.strictEqual(yield* statusOfTarget(url, signed), 200)
    for (const [what, target] of Object.entries(wrong)) {
      assert.strictEqual(yield* statusOfTarget(url, target), 404, what)
    }
    const { body, headers } = yield* get(`${url}/dpe/`)
    assert.strictEqual(body, "")
    assert.sameMembers(
      [...headers.keys()],
      ["cache-control", "connection", "content-length", "date", "x-content-type-options"]
    )
  })

  effect("rejects every URL with one changed character", {}, function* ({ resolve, url }) {
    const signed = (yield* uriOf(resolve, "a")).slice(url.length)
    for (const part of ["/dpe/", "signature="]) {
      const start = signed.indexOf(part) + part.length
      for (const at of [start, start + 21, start + 42]) {
        const replacement = signed[at] === "A" ? "B" : "A"
        const target = signed.slice(0, at) + replacement + signed.slice(at + 1)
        assert.strictEqual(yield* statusOfTarget(url, target), 404, target)
      }
      // the last of 43 characters has two bits that base64 ignores
      const last = start + 42
      const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
      const twin = alphabet[alphabet.indexOf(signed[last] ?? "") ^ 1] ?? ""
      const target = signed.slice(0, last) + twin + signed.slice(last + 1)
      assert.strictEqual(yield* statusOfTarget(url, target), 404, target)
    }
  })

  effect("rejects a tampered URL after its expiry", {}, function* ({ resolve }) {
    const uri = yield* uriOf(resolve, "a")
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(yield* statusOf(uri.replace("signature=", "signature=A").slice(0, -1)), 404)
  })

  effect("rejects every method but GET and HEAD", {}, function* ({ resolve }) {
    const uri = yield* uriOf(resolve, "a")
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      const body = method === "POST" ? { body: "x" } : {}
      assert.deepInclude(yield* get(uri, { method, ...body }), { status: 404, body: "" }, method)
    }
    assert.strictEqual(yield* statusOf(uri), 200)
  })
})

describe("DocumentServer limit", () => {
  effect("evicts the oldest document beyond the count limit", { maxDocuments: 3 }, function* ({ usage, resolve }) {
    const uris = yield* Effect.forEach(["a", "b", "c", "d", "e"], (text) => uriOf(resolve, text))
    assert.deepStrictEqual(yield* Effect.forEach(uris, (uri) => statusOf(uri)), [410, 410, 200, 200, 200])
    assert.deepStrictEqual(yield* usage, { documents: 3, bytes: 3 })
  })

  effect("evicts as many documents as the byte limit requires", { maxBytes: 100 }, function* ({ usage, resolve }) {
    const uris = yield* Effect.forEach([40, 40, 10, 70], (size) => uriOf(resolve, "x".repeat(size), `dpe://h/${size}`))
    const again = yield* uriOf(resolve, "y".repeat(20))
    assert.deepStrictEqual(yield* Effect.forEach([...uris, again], (uri) => statusOf(uri)), [410, 410, 200, 200, 200])
    assert.deepStrictEqual(yield* usage, { documents: 3, bytes: 100 })
  })

  effect("counts a repeated document once, as new", { maxDocuments: 2 }, function* ({ usage, resolve }) {
    const uris = yield* Effect.forEach(["a", "b", "a", "c"], (text) => uriOf(resolve, text))
    assert.deepStrictEqual(yield* Effect.forEach(uris, (uri) => statusOf(uri)), [200, 410, 200, 200])
    assert.deepStrictEqual(yield* usage, { documents: 2, bytes: 2 })
  })

  effect("drops expired documents without a request", { lifetime: "5 minutes" }, function* ({ usage, resolve }) {
    yield* uriOf(resolve, "a")
    yield* TestClock.adjust("4 minutes")
    assert.deepStrictEqual(yield* usage, { documents: 1, bytes: 1 })
    yield* TestClock.adjust("2 minutes")
    assert.deepStrictEqual(yield* usage, { documents: 0, bytes: 0 })
  })

  effect("closes a connection at the maximum age", {}, function* ({ resolve, url }) {
    const { closed } = yield* connection(url)
    // connections are accepted in order: once this one is served, the other one is known
    yield* get(yield* uriOf(resolve, "a"))
    yield* TestClock.adjust("15 minutes")
    yield* closed
  })
})

describe("DocumentServer address", () => {
  it.effect("defaults to loopback", () =>
    Effect.gen(function* () {
      assert.match((yield* makeDocumentServer()).url, /^http:\/\/127\.0\.0\.1:\d+$/)
    })
  )

  effect("supports IPv6", { host: "::1" }, function* ({ resolve, url }) {
    assert.match(url, /^http:\/\/\[::1\]:\d+$/)
    assert.strictEqual(String(yield* bytesAt(yield* uriOf(resolve, "six"))), "six")
  })

  effect("reports an address in use", {}, function* ({ url }) {
    const port = Number(new URL(url).port)
    const { message } = yield* Effect.flip(makeDocumentServer({ port }))
    assert.strictEqual(message, `Cannot serve documents on 127.0.0.1:${port}: the address is in use`)
  })

  it.effect("requires a public URL for a wildcard address", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(makeDocumentServer({ host: "0.0.0.0" }))
      assert.match(message, /requires a public URL/)
    })
  )

  it.effect("uses the public URL with its path behind a proxy", () =>
    Effect.gen(function* () {
      const publicUrl = "https://Docs.example/office/a/"
      const { resolve, url } = yield* makeDocumentServer({ publicUrl })
      assert.strictEqual(url, "https://docs.example/office/a")
      assert.match(yield* uriOf(resolve, "a"), /^https:\/\/docs\.example\/office\/a\/dpe\/[\w-]{43}\?expires=/)
    })
  )

  it.effect("rejects an invalid public URL without quoting it", () =>
    Effect.gen(function* () {
      const reasons = {
        hunter2: /is not a URL/,
        "ftp://hunter2/": /must start with http/,
        "https://user:hunter2@docs.example": /must not contain credentials/,
        "https://docs.example/?key=hunter2": /must not contain a query/,
        "https://docs.example/#hunter2": /must not contain a query/
      }
      for (const [publicUrl, reason] of Object.entries(reasons)) {
        const { message } = yield* Effect.flip(makeDocumentServer({ publicUrl }))
        assert.match(message, reason)
        assert.notInclude(message, "hunter2")
      }
    })
  )
})

describe("DocumentServer shutdown", () => {
  const start = Effect.gen(function* () {
    const scope = yield* Scope.make()
    const server = yield* Scope.provide(makeDocumentServer({ ...loopbackAddress(), maxBytes: 2 ** 26 }), scope)
    return { ...server, stop: Scope.close(scope, Exit.void) }
  })

  it.live("closes open connections at once", () =>
    Effect.gen(function* () {
      const { resolve, stop, url } = yield* start
      const target = (yield* uriOf(resolve, "x".repeat(2 ** 25))).slice(url.length)
      const head = `GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\n`
      const idle = yield* connection(url)
      const halfway = yield* connection(url, head)
      const reading = yield* connection(url, `${head}\r\n`)
      yield* Effect.callback<void>((resume) => {
        reading.socket.once("data", () => {
          reading.socket.pause()
          resume(Effect.void)
        })
      })
      yield* stop
      // a paused socket does not emit its end
      reading.socket.resume()
      yield* Effect.all([idle.closed, halfway.closed, reading.closed], { concurrency: "unbounded" })
    }).pipe(Effect.timeout("30 seconds"))
  )

  it.live("stops listening", () =>
    Effect.gen(function* () {
      const { resolve, stop } = yield* start
      const uri = yield* uriOf(resolve, "a")
      assert.strictEqual(yield* statusOf(uri), 200)
      yield* stop
      const failure = yield* Effect.flip(Effect.tryPromise(() => fetch(uri)))
      // a kept connection is reset, a new one refused
      assert.match(String((failure.cause as Error).cause), /ECONNREFUSED|ECONNRESET/)
    })
  )
})
