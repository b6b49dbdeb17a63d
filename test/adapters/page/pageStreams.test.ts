import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Exit, Fiber, Layer, Queue, Scope, Stream } from "effect"
import * as ApiKeys from "../../../src/adapters/auth/ApiKeys.ts"
import { makeSchemeAuthenticator } from "../../../src/adapters/auth/CredentialScheme.ts"
import type { ApiKeyEntry } from "../../../src/adapters/auth/apiKeyEntries.ts"
import { allowAll, Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { maxStreams } from "../../../src/application/shared/page/openPageStream.ts"
import { parseJsonObject } from "../../../src/domain/json.ts"
import { allGrants } from "../../../src/domain/model/Identity.ts"
import { forbidden, tooManyRequests } from "../../../src/domain/model/ProtocolError.ts"
import type { PageCallMessage } from "../../../src/domain/page/PageCommand.ts"
import { agentLayer } from "../../../src/main/layers/agentLayer.ts"
import { serverLayer, type ServerLayerOptions } from "../../../src/main/layers/serverLayer.ts"
import { withWallClock } from "../../wallClock.ts"
import {
  assets,
  effect,
  keys,
  live,
  openLines,
  openResponse,
  operatorKey,
  ownMetrics,
  passTimeUntil,
  post,
  send,
  type Sent,
  servePage,
  shortKey,
  snapshot,
  startSession,
  statusOf,
  streamOf
} from "./pageServer.ts"
import { type TestBody, liveWith } from "../../testWith.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"

const events = "/office/api/events"
const calls = "/office/api/calls"

const batch = { at: 1, events: [], omittedCalls: 0, droppedEvents: 0 } as const

/** The message of a line. */
const messageOf = (line: string) => parseJsonObject(line) ?? {}

/** Opens a stream of events in a session. */
const openEvents = Effect.fnUntraced(function* (url: string, { headers }: { readonly headers: Sent["headers"] }) {
  return yield* openLines(url, events, { headers: headers ?? {} })
})

describe("the stream of events of the office page", () => {
  live(
    "starts with the snapshot, and continues with the batches",
    { watch: { open: Effect.succeed(streamOf(Effect.succeed(batch))) } },
    function* (url) {
      const stream = yield* openEvents(url, yield* startSession(url))
      assert.strictEqual(stream.status, 200)
      assert.deepInclude(stream.headers, {
        "content-type": "application/x-ndjson; charset=utf-8",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff"
      })
      assert.deepStrictEqual(messageOf(yield* stream.next), { ...snapshot })
      assert.deepStrictEqual(messageOf(yield* stream.next), { ...batch })
    }
  )

  effect("has an empty line every 15 seconds", {}, function* (url) {
    const stream = yield* openEvents(url, yield* startSession(url))
    yield* stream.next
    assert.deepStrictEqual([yield* passTimeUntil(stream.next), yield* passTimeUntil(stream.next)], ["", ""])
  })

  live("is rejected without a session, and for pages of other origins", {}, function* (url) {
    const { headers } = yield* startSession(url)
    assert.strictEqual(yield* statusOf(url, events), 401)
    assert.strictEqual(yield* statusOf(url, events, { headers: { ...headers, origin: "http://localhost:1" } }), 403)
    assert.strictEqual(yield* statusOf(url, events, { headers: { ...headers, "sec-fetch-site": "cross-site" } }), 403)
  })

  it.live("is rejected while too many streams are open", () =>
    Effect.gen(function* () {
      const open = Effect.fail(tooManyRequests("16 pages are open", "page_streams", 16))
      const url = yield* servePage({ watch: { open } })
      const { headers } = yield* startSession(url)
      const { status, text } = yield* send(url, events, { headers })
      assert.deepStrictEqual([status, JSON.parse(text)], [429, { code: 429, message: "16 pages are open" }])
    })
  )

  it.live("ends when the Server shuts down", () =>
    Effect.gen(function* () {
      const stop = yield* Deferred.make<undefined>()
      const url = yield* servePage({ watch: { open: Effect.succeed(streamOf(Deferred.await(stop))) } })
      const stream = yield* openEvents(url, yield* startSession(url))
      yield* Deferred.succeed(stop, undefined)
      assert.isTrue(yield* stream.ended)
    })
  )

  it.live("ends for the watch when the browser closes it", () =>
    Effect.gen(function* () {
      const closed = yield* Deferred.make<void>()
      const open = Effect.acquireRelease(Effect.succeed(streamOf()), () => Deferred.succeed(closed, undefined))
      const url = yield* servePage({ watch: { open } })
      const stream = yield* openEvents(url, yield* startSession(url))
      yield* stream.close
      yield* Deferred.await(closed)
    })
  )

  it.live("ends when the credentials expire", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const url = yield* servePage({ authenticator: keys })
        const stream = yield* openEvents(url, yield* startSession(url, shortKey))
        change(60_000)
        assert.isTrue(yield* stream.ended)
      })
    )
  )

  live("ends with the sign-out", { authenticator: keys }, function* (url) {
    const started = yield* startSession(url, operatorKey)
    const stream = yield* openEvents(url, started)
    yield* send(url, "/office/api/session", post({}, started.headers, "DELETE"))
    assert.isTrue(yield* stream.ended)
  })

  it.effect("ends when a reloaded file of keys has the key no more", () =>
    // No time passes: the reload ends it at once.
    Effect.gen(function* () {
      const updates = yield* Queue.unbounded<ReadonlyArray<ApiKeyEntry>>()
      const hash = createHash("sha256").update(operatorKey).digest("hex")
      const entry = { hash, subject: "olga", grants: allGrants, expiresAt: undefined }
      const scheme = yield* ApiKeys.make([entry], Stream.fromQueue(updates))
      const url = yield* servePage({ authenticator: makeSchemeAuthenticator([scheme]) })
      const started = yield* startSession(url, operatorKey)
      const stream = yield* openEvents(url, started)
      yield* Queue.offer(updates, [])
      assert.isTrue(yield* stream.ended)
      assert.strictEqual(yield* statusOf(url, "/office/api/session", started), 401)
    })
  )

  it.effect("waits for a reader that does not read, and ends after a minute", () =>
    Effect.gen(function* () {
      let taken = 0
      const closed = yield* Deferred.make<void>()
      const large = { ...batch, events: [{ _tag: "Left", sid: "s".repeat(8 * 1024 * 1024), at: 0 }] } as const
      // The buffers of the system hold some batches. Without backpressure this fails, instead of the memory.
      const next = Effect.suspend(() =>
        ++taken > 20 ? Effect.die(new Error("no backpressure")) : Effect.succeed(large)
      )
      const open = Effect.acquireRelease(Effect.succeed(streamOf(next)), () => Deferred.succeed(closed, undefined))
      const url = yield* servePage({ watch: { open } })
      const { response } = yield* openResponse(url, events, yield* startSession(url))
      response.pause()
      yield* passTimeUntil(Deferred.await(closed))
      assert.isAtMost(taken, 10)
      // Each batch has a minute. A session, which lasts 12 hours, does not end the stream.
      assert.isAtMost(yield* Clock.currentTimeMillis, 10 * 61_000)
    })
  )
})

describe("a call of the office page", () => {
  const call = { line: "0.2", office: "team", computer: "pc", tool: "echo", params: { text: "hi" }, timeout: 10 }
  const started: PageCallMessage = { _tag: "Started", as: "agent", name: "operator:olga" }
  const result: PageCallMessage = { _tag: "Result", result: { content: [] } }

  it.live("streams its messages as lines of JSON", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const url = yield* servePage({
        authenticator: keys,
        watch: {
          call: (request, { identity }) => {
            seen.push([request, identity.subject])
            return Effect.succeed(Stream.make(started, result))
          }
        }
      })
      const { headers } = yield* startSession(url, operatorKey)
      const reply = yield* send(url, calls, post(call, headers))
      assert.strictEqual(reply.status, 200)
      assert.strictEqual(reply.headers["content-type"], "application/x-ndjson; charset=utf-8")
      assert.strictEqual(reply.text, `${JSON.stringify(started)}\n${JSON.stringify(result)}\n`)
      assert.deepStrictEqual(seen, [[call, "olga"]])
    })
  )

  live(
    "fails with a status when it cannot start",
    { watch: { call: () => Effect.fail(forbidden("not an Agent")) } },
    function* (url) {
      const { headers } = yield* startSession(url)
      const { status, text } = yield* send(url, calls, post(call, headers))
      assert.deepStrictEqual([status, JSON.parse(text)], [403, { code: 403, message: "not an Agent" }])
      assert.strictEqual(yield* statusOf(url, calls, post({ ...call, params: "text" }, headers)), 400)
      assert.strictEqual(yield* statusOf(url, calls, post(call, { ...headers, "x-a2c-csrf": "guess" })), 403)
    }
  )

  /** Calls that start and never end, and what ends them. */
  const endless = Effect.gen(function* () {
    const cancelled = yield* Deferred.make<void>()
    const endlessCall = () =>
      Effect.as(
        Effect.addFinalizer(() => Deferred.succeed(cancelled, undefined)),
        Stream.concat(Stream.succeed(started), Stream.never)
      )
    return { call: endlessCall, cancelled: Deferred.await(cancelled) }
  })

  it.live("is cancelled when the browser aborts its request", () =>
    Effect.gen(function* () {
      const watch = yield* endless
      const url = yield* servePage({ watch })
      const { headers } = yield* startSession(url)
      const lines = yield* openLines(url, calls, post(call, headers))
      assert.deepStrictEqual(parseJsonObject(yield* lines.next), { ...started })
      yield* lines.close
      yield* watch.cancelled
    })
  )

  it.live("is cancelled and fails when its session ends", () =>
    Effect.gen(function* () {
      const watch = yield* endless
      const url = yield* servePage({ watch })
      const { headers } = yield* startSession(url)
      const lines = yield* openLines(url, calls, post(call, headers))
      yield* lines.next
      yield* send(url, "/office/api/session", post({}, headers, "DELETE"))
      const error = { code: 401, message: "The session has ended" }
      assert.deepStrictEqual(parseJsonObject(yield* lines.next), { _tag: "Failed", error })
      yield* watch.cancelled
    })
  )

  it.live("ends in part when it fails after its start", () =>
    Effect.gen(function* () {
      const received = yield* Deferred.make<void>()
      const bug = Effect.andThen(Deferred.await(received), Effect.die(new Error("bug")))
      const failing = () => Effect.succeed(Stream.concat(Stream.succeed(started), Stream.fromEffect(bug)))
      const url = yield* servePage({ watch: { call: failing } })
      const { headers } = yield* startSession(url)
      const lines = yield* openLines(url, calls, post(call, headers))
      yield* lines.next
      yield* Deferred.succeed(received, undefined)
      assert.isFalse(yield* lines.ended)
    })
  )
})

describe("the office page of a Server", () => {
  const pem = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url), "utf8")

  const start = Effect.fnUntraced(function* (options: ServerLayerOptions = {}) {
    const layer = serverLayer({ page: { assets }, ...options }).pipe(
      Layer.provide([Layer.succeed(Authenticator, allowAll), AuditLog.layerNone]),
      Layer.provide(ownMetrics),
      Layer.fresh
    )
    const { url } = Context.get(yield* Layer.build(layer), Server)
    return url
  })
  const live = (title: string, options: ServerLayerOptions, body: TestBody<string>) =>
    liveWith(start(options))(title, body)

  live("is served beside the other pages", {}, function* (url) {
    assert.strictEqual(yield* statusOf(url, "/office"), 200)
    assert.strictEqual(yield* statusOf(url, "/healthz"), 200)
    assert.strictEqual(yield* statusOf(url, "/other"), 404)
  })

  live("is missing on request", { page: false }, function* (url) {
    assert.strictEqual(yield* statusOf(url, "/office"), 404)
  })

  live(
    "accepts the names of allowed origins as its host",
    { allowedOrigins: ["https://a2c.example"] },
    function* (url) {
      assert.strictEqual(yield* statusOf(url, "/office", { headers: { host: "a2c.example" } }), 200)
      assert.strictEqual(yield* statusOf(url, "/office", { headers: { host: "b2c.example" } }), 403)
    }
  )

  live("sets a secure cookie over TLS", { tls: { cert: pem("first.cert"), key: pem("first.key") } }, function* (url) {
    const { headers } = yield* send(url, "/office/api/session")
    assert.match(headers["set-cookie"]?.[0] ?? "", /; Secure; SameSite=Strict$/)
  })

  live("shows a member that joins", {}, function* (url) {
    const stream = yield* openEvents(url, yield* startSession(url))
    assert.notInclude(yield* stream.next, '"Entered"')
    yield* Layer.build(agentLayer({ url, office: "team", name: "brain" }))
    const entered = yield* Effect.repeat(stream.next, { until: (line) => line.includes('"Entered"') })
    assert.include(entered, '"name":"brain"')
  })

  live("captures bodies on request", { page: { assets, bodies: {} } }, function* (url) {
    assert.isTrue((yield* startSession(url)).session.hasBodies)
    const { headers } = yield* startSession(url)
    const command = { _tag: "GetCallBody", id: "n/1" }
    assert.strictEqual(yield* statusOf(url, "/office/api/commands", post(command, headers)), 404)
  })

  live("opens a limited number of streams", {}, function* (url) {
    const started = yield* startSession(url)
    for (let count = 0; count < maxStreams; count++) {
      assert.strictEqual((yield* openEvents(url, started)).status, 200)
    }
    assert.strictEqual(yield* statusOf(url, events, started), 429)
  })

  it.live("ends its streams when the Server closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const url = yield* Scope.provide(start(), scope)
      const stream = yield* openEvents(url, yield* startSession(url))
      yield* stream.next
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* stream.ended
      yield* Fiber.join(closing)
    })
  )
})
