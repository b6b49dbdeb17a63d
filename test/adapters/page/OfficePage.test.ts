import { gunzipSync } from "node:zlib"
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { admissionRejected, allowAll } from "../../../src/application/ports/Authenticator.ts"
import type { ObservedEvent } from "../../../src/application/server/observability/observers.ts"
import { maxSessions } from "../../../src/adapters/page/PageSessions.ts"
import { allGrants } from "../../../src/domain/model/Identity.ts"
import { computerNotFound, timedOut } from "../../../src/domain/model/ProtocolError.ts"
import { withWallClock } from "../../wallClock.ts"
import {
  agentKey,
  cookieOf,
  effect,
  keys,
  live,
  operatorKey,
  passTimeUntil,
  post,
  send,
  type Sent,
  servePage,
  shortKey,
  signInWith,
  startSession,
  statusOf,
  watcherKey
} from "./pageServer.ts"

/** In milliseconds. */
const hour = 3_600_000

const session = "/office/api/session"
const drain = { _tag: "Drain", node: "n" }

describe("the folder of the office page", () => {
  live("serves the index and its assets, compressed on request", {}, function* (url) {
    const [index, slash] = [yield* send(url, "/office"), yield* send(url, "/office/")]
    assert.deepStrictEqual([index.status, index.headers["content-type"]], [200, "text/html; charset=utf-8"])
    assert.include(index.text, "/office/page.ABCD1234.js")
    assert.strictEqual(slash.text, index.text)
    const script = yield* send(url, "/office/page.ABCD1234.js", { headers: { "accept-encoding": "br, gzip" } })
    assert.strictEqual(script.headers["content-encoding"], "gzip")
    assert.include(gunzipSync(Buffer.from(script.text, "latin1")).toString(), "document.title")
    const style = yield* send(url, "/office/page.EFGH5678.css", { headers: { "accept-encoding": "gzip;q=0" } })
    assert.deepStrictEqual(
      [style.headers["content-type"], style.text],
      ["text/css; charset=utf-8", "body {\n  margin: 0;\n}\n"]
    )
  })

  live("lets browsers cache all files but the index", {}, function* (url) {
    const cacheOf = (path: string) => Effect.map(send(url, path), ({ headers }) => headers["cache-control"])
    assert.strictEqual(yield* cacheOf("/office"), "no-store")
    assert.strictEqual(yield* cacheOf("/office/page.ABCD1234.js"), "public, max-age=31536000, immutable")
  })

  live("hides all other files and paths", {}, function* (url) {
    for (const path of [
      "/office/notes.txt",
      "/office/page.ABCD1234.js.map",
      "/office/../package.json",
      "/office/..%2f..%2fpackage.json",
      "/office/%2e%2e/%2e%2e/package.json",
      "/office/api",
      "/office/api/",
      "/office/api/other"
    ]) {
      assert.include([404, 418], yield* statusOf(url, path), path)
    }
    assert.strictEqual(yield* statusOf(url, "/offices"), 418)
    assert.strictEqual(yield* statusOf(url, "/"), 418)
  })

  live("fails with a hint until the page is built", { assets: "/nowhere/page" }, function* (url) {
    const { status, text } = yield* send(url, "/office")
    assert.deepStrictEqual(
      [status, JSON.parse(text)],
      [503, { code: 503, message: "The office page is not built: run npm run build" }]
    )
  })

  live("answers GET and HEAD only", {}, function* (url) {
    const head = yield* send(url, "/office", { method: "HEAD" })
    assert.deepStrictEqual([head.status, head.text], [200, ""])
    const other = yield* send(url, "/office", post({}))
    assert.deepStrictEqual([other.status, other.headers.allow], [405, "GET, HEAD"])
  })
})

describe("a page with a second origin for apps", () => {
  live(
    "tells it to the page, which may frame it",
    { sandbox: { originFor: ({ host }) => `http://apps.example?${host}` } },
    function* (url) {
      const origin = `http://apps.example?${new URL(url).host}`
      const index = yield* send(url, "/office")
      assert.include(index.headers["content-security-policy"], `; frame-src ${origin}`)
      const reply = yield* send(url, session)
      assert.strictEqual(JSON.parse(reply.text).appOrigin, origin)
    }
  )
})

describe("every response below /office", () => {
  it.live("has the headers that protect the page", () =>
    Effect.gen(function* () {
      const url = yield* servePage({
        watch: { execute: () => Effect.succeed({}) }
      })
      const { headers } = yield* startSession(url)
      const requests: ReadonlyArray<readonly [string, Sent]> = [
        ["/office", {}],
        ["/office/page.ABCD1234.js", {}],
        ["/office/none", {}],
        [session, { headers }],
        [session, { method: "PUT" }],
        ["/office/api/commands", {}],
        ["/office/api/commands", post(drain, headers)],
        ["/office/api/commands", post(drain)],
        ["/office", { headers: { host: "evil.example" } }],
        [session, post({}, headers, "DELETE")]
      ]
      const statuses: Array<number> = []
      for (const [path, sent] of requests) {
        const reply = yield* send(url, path, sent)
        statuses.push(reply.status)
        assert.deepInclude(reply.headers, {
          "content-security-policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
            "trusted-types 'none'",
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
          "cross-origin-opener-policy": "same-origin",
          "cross-origin-resource-policy": "same-origin"
        })
        if (path !== "/office/page.ABCD1234.js") assert.strictEqual(reply.headers["cache-control"], "no-store")
        assert.notProperty(reply.headers, "access-control-allow-origin")
      }
      assert.deepStrictEqual(statuses, [200, 200, 404, 200, 405, 405, 200, 401, 403, 204])
    })
  )
})

describe("the sign-in of the office page", () => {
  it.live("starts a session for the key of an operator", () =>
    Effect.gen(function* () {
      const seen: Array<ObservedEvent> = []
      const url = yield* servePage({ authenticator: keys, observe: (event) => void seen.push(event) })
      // Every page asks for its session first: that is no failed sign-in.
      assert.strictEqual(yield* statusOf(url, session), 401)
      assert.deepStrictEqual(seen, [])
      const signedIn = yield* send(url, session, signInWith(operatorKey))
      const cookie = cookieOf(signedIn)
      const fetched = yield* send(url, session, { headers: { cookie } })
      assert.deepStrictEqual([signedIn.status, fetched.status], [200, 200])
      assert.deepInclude(JSON.parse(fetched.text), {
        subject: "olga",
        requiresSignIn: true,
        mayCall: true,
        hasBodies: false
      })
      assert.strictEqual(fetched.text, signedIn.text)
      assert.notInclude(signedIn.text, cookie.split("=")[1] ?? "")
    })
  )

  live("sets a cookie that scripts and other sites cannot use", { authenticator: keys }, function* (url) {
    const { port } = new URL(url)
    const { headers } = yield* send(url, session, signInWith(operatorKey))
    const pattern = String.raw`^a2c_page_${port}=[\w-]{43}; Max-Age=43200; Path=/office; HttpOnly; SameSite=Strict$`
    assert.match(headers["set-cookie"]?.[0] ?? "", new RegExp(pattern))
  })

  live("sets a secure cookie behind a proxy with TLS", { authenticator: keys }, function* (url) {
    const behind = { host: "a2c.example", origin: "https://a2c.example" }
    const { headers } = yield* send(url, session, signInWith(operatorKey, behind))
    assert.match(headers["set-cookie"]?.[0] ?? "", /; Secure; SameSite=Strict$/)
  })

  live("tells whether an operator may call tools", { authenticator: keys }, function* (url) {
    const { session: watcher } = yield* startSession(url, watcherKey)
    assert.isFalse(watcher.mayCall)
  })

  it.live("rejects a key without the right operator, and reports it", () =>
    Effect.gen(function* () {
      const seen: Array<ObservedEvent> = []
      const url = yield* servePage({ authenticator: keys, observe: (event) => void seen.push(event) })
      const denied = yield* send(url, session, signInWith(agentKey))
      const unknown = yield* send(url, session, signInWith("guess"))
      assert.deepStrictEqual([denied.status, unknown.status], [403, 401])
      assert.notProperty(denied.headers, "set-cookie")
      const rejected = { _tag: "ConnectionRejected", remoteAddress: "127.0.0.1" } as const
      assert.deepStrictEqual(seen, [
        { ...rejected, code: 403, reason: "/office/api/session: 'alan' is not an operator" },
        { ...rejected, code: 401, reason: "/office/api/session: no such key" }
      ])
    })
  )

  it.live("rejects every key while the authenticator is unavailable, and blocks no client for that", () =>
    Effect.gen(function* () {
      const authenticate = () => Effect.fail(admissionRejected("unavailable", "no keys"))
      const url = yield* servePage({ authenticator: { ...keys, authenticate } })
      for (let attempt = 0; attempt < 6; attempt++)
        assert.strictEqual(yield* statusOf(url, session, signInWith(operatorKey)), 503)
    })
  )

  it.live("blocks an address for a minute after five wrong keys", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const url = yield* servePage({ authenticator: keys })
        for (let attempt = 0; attempt < 5; attempt++)
          assert.strictEqual(yield* statusOf(url, session, signInWith("guess")), 401)
        const blocked = yield* send(url, session, signInWith(operatorKey))
        assert.deepStrictEqual([blocked.status, blocked.headers["retry-after"]], [429, "60"])
        change(61_000)
        assert.strictEqual(yield* statusOf(url, session, signInWith(operatorKey)), 200)
      })
    )
  )

  live("accepts bodies of 16 KiB only", { authenticator: keys }, function* (url) {
    assert.strictEqual(yield* statusOf(url, session, signInWith("x".repeat(16 * 1024))), 413)
    assert.strictEqual(yield* statusOf(url, session, signInWith("")), 400)
  })
})

describe("a session of the office page", () => {
  it.live("ends after 12 hours", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const url = yield* servePage({ authenticator: keys })
        const { headers } = yield* startSession(url, operatorKey)
        change(11 * hour)
        assert.strictEqual(yield* statusOf(url, session, { headers }), 200)
        change(hour)
        assert.strictEqual(yield* statusOf(url, session, { headers }), 401)
      })
    )
  )

  it.live("ends when its key expires", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const url = yield* servePage({ authenticator: keys })
        const { headers } = yield* startSession(url, shortKey)
        assert.strictEqual(yield* statusOf(url, session, { headers }), 200)
        change(60_000)
        assert.strictEqual(yield* statusOf(url, session, { headers }), 401)
      })
    )
  )

  live("ends with the sign-out, which removes the cookie", { authenticator: keys }, function* (url) {
    const { headers } = yield* startSession(url, operatorKey)
    const signedOut = yield* send(url, session, post({}, headers, "DELETE"))
    assert.strictEqual(signedOut.status, 204)
    assert.match(signedOut.headers["set-cookie"]?.[0] ?? "", /^a2c_page_\d+=; Max-Age=0; Path=\/office; HttpOnly;/)
    assert.strictEqual(yield* statusOf(url, session, { headers }), 401)
  })

  live("ends when the same browser signs in again", { authenticator: keys }, function* (url) {
    const { headers } = yield* startSession(url, operatorKey)
    assert.strictEqual(yield* statusOf(url, session, signInWith(operatorKey, { cookie: headers.cookie })), 200)
    assert.strictEqual(yield* statusOf(url, session, { headers }), 401)
  })

  live("is dropped when there are too many, the least recently used one first", {}, function* (url) {
    const [first, second] = [yield* startSession(url), yield* startSession(url)]
    for (let count = 2; count < maxSessions; count++) yield* startSession(url)
    assert.strictEqual((yield* send(url, session, { headers: first.headers })).headers["set-cookie"], undefined)
    yield* startSession(url)
    const again = (given: typeof first) => send(url, session, { headers: given.headers })
    // A browser whose session has ended gets another one.
    assert.isUndefined((yield* again(first)).headers["set-cookie"])
    assert.isDefined((yield* again(second)).headers["set-cookie"])
  })

  live("starts without a key on a Server without authentication", {}, function* (url) {
    const started = yield* startSession(url)
    assert.deepInclude(started.session, { subject: "anonymous", requiresSignIn: false, mayCall: true })
    assert.match(started.session.csrf, /^[\w-]{43}$/)
  })

  it.live("also needs the right operator on a Server without authentication", () =>
    Effect.gen(function* () {
      const grants = { ...allGrants, rights: ["agent"] as const }
      const identity = { subject: "guest", grants, expiresAt: undefined }
      const url = yield* servePage({ authenticator: { ...allowAll, authenticate: () => Effect.succeed(identity) } })
      assert.strictEqual(yield* statusOf(url, session), 403)
    })
  )
})

describe("a command of the office page", () => {
  const commands = "/office/api/commands"

  it.live("reaches the Server with its operator, and returns its reply", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const url = yield* servePage({
        authenticator: keys,
        watch: {
          execute: (command, { identity, remoteAddress }) => {
            seen.push([command, identity.subject, remoteAddress])
            return Effect.succeed({ params: "{}", result: "42" })
          }
        }
      })
      const { headers } = yield* startSession(url, operatorKey)
      const reply = yield* send(url, commands, post({ _tag: "GetCallBody", id: "n/1" }, headers))
      assert.deepStrictEqual([reply.status, JSON.parse(reply.text)], [200, { params: "{}", result: "42" }])
      assert.deepStrictEqual(seen, [[{ _tag: "GetCallBody", id: "n/1" }, "olga", "127.0.0.1"]])
    })
  )

  it.live("returns the error of the Server with its code", () =>
    Effect.gen(function* () {
      let error = computerNotFound("pc")
      const url = yield* servePage({ watch: { execute: () => Effect.fail(error) } })
      const { headers } = yield* startSession(url)
      const missing = yield* send(url, commands, post(drain, headers))
      assert.deepStrictEqual(
        [missing.status, JSON.parse(missing.text)],
        [404, { code: 404, message: "Computer 'pc' not found in the office" }]
      )
      // Browsers repeat a request that ends with the status 408.
      error = timedOut(10)
      const late = yield* send(url, commands, post(drain, headers))
      assert.deepStrictEqual(
        [late.status, JSON.parse(late.text)],
        [504, { code: 408, message: "Timed out after 10 seconds" }]
      )
    })
  )

  live(
    "fails with 500 on a defect, without its text",
    { watch: { execute: () => Effect.die(new Error("secret")) } },
    function* (url) {
      const { headers } = yield* startSession(url)
      const reply = yield* send(url, commands, post(drain, headers))
      assert.deepStrictEqual([reply.status, JSON.parse(reply.text)], [500, { code: 500, message: "internal error" }])
    }
  )

  it.live("is rejected without a session, its token, JSON, or the origin of the Server", () =>
    Effect.gen(function* () {
      let executed = 0
      const execute = () => Effect.sync(() => ({ executed: ++executed }))
      const url = yield* servePage({ authenticator: keys, watch: { execute } })
      const { headers } = yield* startSession(url, operatorKey)
      const other = yield* startSession(url, operatorKey)
      const statusWith = (changed: Sent["headers"], path = commands) =>
        statusOf(url, path, post(drain, { ...headers, ...changed }))
      assert.strictEqual(yield* statusWith({ cookie: "" }), 401)
      assert.strictEqual(yield* statusWith({ cookie: `${headers.cookie}x` }), 401)
      assert.strictEqual(yield* statusWith({ "x-a2c-csrf": other.session.csrf }), 403)
      assert.strictEqual(yield* statusWith({ "x-a2c-csrf": "" }), 403)
      assert.strictEqual(yield* statusWith({ "content-type": "text/plain" }), 415)
      assert.strictEqual(yield* statusWith({ "content-type": "application/x-www-form-urlencoded" }), 415)
      assert.strictEqual(yield* statusWith({ origin: "https://evil.example" }), 403)
      assert.strictEqual(yield* statusWith({ origin: "null" }), 403)
      assert.strictEqual(yield* statusWith({ "sec-fetch-site": "same-site" }), 403)
      assert.strictEqual(executed, 0)
      const same = { origin: new URL(url).origin, "sec-fetch-site": "same-origin" }
      assert.strictEqual(yield* statusWith({ ...same, "content-type": "application/json; charset=utf-8" }), 200)
      assert.strictEqual(executed, 1)
    })
  )

  live("is rejected when its body is not a command", {}, function* (url) {
    const { headers } = yield* startSession(url)
    const statusFor = (body: string) => statusOf(url, commands, { ...post({}, headers), body })
    assert.strictEqual(yield* statusFor(""), 400)
    assert.strictEqual(yield* statusFor("{"), 400)
    assert.strictEqual(yield* statusFor('{"_tag":"Reboot"}'), 400)
    assert.strictEqual(yield* statusFor('{"_tag":"Drain"}'), 400)
    assert.strictEqual(yield* statusFor(`${"[".repeat(200)}${"]".repeat(200)}`), 400)
  })

  live("is rejected when its body is larger than 1 MiB, with or without a length", {}, function* (url) {
    const { headers } = yield* startSession(url)
    const body = { ...drain, node: "n".repeat(1024 * 1024) }
    assert.strictEqual(yield* statusOf(url, commands, post(body, headers)), 413)
    const chunked = post(body, { ...headers, "transfer-encoding": "chunked" })
    assert.strictEqual(yield* statusOf(url, commands, chunked), 413)
  })

  effect("is rejected when its body takes longer than 10 seconds", {}, function* (url) {
    const { headers } = yield* startSession(url)
    const { port } = new URL(url)
    const lines = [
      `POST ${commands} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      "Content-Type: application/json",
      "Content-Length: 100",
      `Cookie: ${headers.cookie}`,
      `X-A2C-CSRF: ${headers["x-a2c-csrf"]}`
    ]
    const reply = yield* passTimeUntil(
      Effect.callback<string>((resume) => {
        let text = ""
        const socket = connect(Number(port), "127.0.0.1", () => socket.write(`${lines.join("\r\n")}\r\n\r\n{`))
        socket.on("data", (chunk) => (text += chunk.toString()))
        socket.on("close", () => resume(Effect.succeed(text)))
      })
    )
    assert.match(reply, /^HTTP\/1\.1 408 /)
    assert.include(reply, "The body takes longer than 10s")
  })

  it.live("is rejected while 64 requests of the session are in progress", () =>
    Effect.gen(function* () {
      let started = 0
      const url = yield* servePage({
        watch: {
          execute: () =>
            Effect.andThen(
              Effect.sync(() => void (started += 1)),
              Effect.never
            )
        }
      })
      const { headers } = yield* startSession(url)
      for (let count = 0; count < 64; count++) yield* Effect.forkScoped(statusOf(url, commands, post(drain, headers)))
      yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => started === 64 })
      assert.strictEqual(yield* statusOf(url, commands, post(drain, headers)), 429)
    })
  )

  live("is the only kind of request at its path", {}, function* (url) {
    for (const method of ["GET", "PUT", "OPTIONS", "DELETE"]) {
      const reply = yield* send(url, commands, { method })
      assert.deepStrictEqual([reply.status, reply.headers.allow], [405, "POST"])
    }
  })
})

describe("the Host header of a request for the office page", () => {
  it.live("is an address or a known name on a Server without authentication", () =>
    Effect.gen(function* () {
      const seen: Array<ObservedEvent> = []
      const observe = (event: ObservedEvent) => void seen.push(event)
      const url = yield* servePage({ allowedHosts: ["a2c.example"], observe })
      const { port } = new URL(url)
      const statusAt = (host: string, path: string) => statusOf(url, path, { headers: { host: `${host}:${port}` } })
      for (const path of ["/office", session]) {
        assert.strictEqual(yield* statusAt("localhost", path), 200)
        assert.strictEqual(yield* statusAt("192.168.1.2", path), 200)
        assert.strictEqual(yield* statusAt("a2c.example", path), 200)
        assert.strictEqual(yield* statusAt("evil.example", path), 403)
      }
      assert.deepInclude(seen[0], { _tag: "ConnectionRejected", code: 403, reason: "/office: foreign Host header" })
    })
  )

  live("is any name on a Server with authentication", { authenticator: keys }, function* (url) {
    const headers = { host: "a2c.example", origin: "http://a2c.example" }
    assert.strictEqual(yield* statusOf(url, "/office", { headers }), 200)
    assert.strictEqual(yield* statusOf(url, session, signInWith(operatorKey, headers)), 200)
  })
})
