import { createServer, type Server as HttpServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Option, Queue, Ref, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as SocketIoClient from "../../../../src/adapters/socketio/client/SocketIoClient.ts"
import { joinOffice } from "../../../../src/application/member/OfficeMember.ts"
import { allowAll, type Authenticator, admissionRejected } from "../../../../src/application/ports/Authenticator.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { TransportClient } from "../../../../src/application/ports/Transport.ts"
import type { Limits } from "../../../../src/application/server/Limits.ts"
import type { Server } from "../../../../src/application/server/lifecycle/Server.ts"
import { makeAdmission } from "../../../../src/application/server/membership/admission.ts"
import { isJsonObject, type JsonObject } from "../../../../src/domain/json.ts"
import { allGrants, type Grants, type Identity } from "../../../../src/domain/model/Identity.ts"
import { PROTOCOL_VERSION } from "../../../../src/domain/wire/lines.ts"
import { buildWorld } from "../../../conformance/World.ts"
import { withWallClock } from "../../../wallClock.ts"
import { makeLink, makeParts } from "../parts.ts"

type AuthenticatorService = Authenticator["Service"]

/** Identities by their tokens, which {@link Guests.revoke} revokes. */
interface Guests extends AuthenticatorService {
  readonly revoke: (token: string) => Effect.Effect<void>
}

const guest = (subject: string, grants: Grants = allGrants, expiresAt?: number): Identity => ({
  subject,
  grants,
  expiresAt
})

const guests = (known: { readonly [token: string]: Identity }) =>
  Effect.gen(function* () {
    const left = yield* Ref.make(new Map(Object.entries(known)))
    const changes = yield* Queue.unbounded<void>()
    const made: Guests = {
      requiresCredentials: true,
      authenticate: ({ auth }) =>
        Effect.gen(function* () {
          const token = isJsonObject(auth) ? auth["token"] : undefined
          const found = (yield* Ref.get(left)).get(String(token))
          return found ?? (yield* admissionRejected("invalid_credentials", "The key is not valid"))
        }),
      isStillValid: (identity) => [...Ref.getUnsafe(left).values()].includes(identity),
      changes: Stream.fromQueue(changes),
      revoke: (token) =>
        Effect.andThen(
          Ref.update(left, (now) => new Map([...now].filter(([one]) => one !== token))),
          Queue.offer(changes, undefined)
        )
    }
    return made
  })

/** A Server in memory and its log. */
const serve = Effect.fnUntraced(function* (authenticator: Authenticator["Service"], limits: Partial<Limits> = {}) {
  const { client, logs, server } = yield* buildWorld("memory", { authenticator, limits })
  const transport = yield* Effect.provide(TransportClient, client)
  const connect = (token: string, role?: string) =>
    transport.connect({
      version: PROTOCOL_VERSION,
      auth: { token, ...(role !== undefined && { role }) },
      onMessage: () => Effect.succeed([])
    })
  const join = (link: Effect.Success<ReturnType<typeof connect>>, role: string, office: string, name: string) =>
    Effect.map(
      link.request("server:join_office", jsonBody({ role, office_id: office, name }), Duration.seconds(5)),
      (reply) => reply.map(({ head }) => Result.getOrThrow(head))
    )
  return { connect, join, logs, transport, load: server.load }
})

/** Waits until the Server has `count` connections: a link closes a moment before its scope. */
const until = (load: Server["Service"]["load"], connections: number) =>
  Effect.repeat(
    Effect.andThen(
      Effect.yieldNow,
      Effect.sync(() => load().connections)
    ),
    { until: (now) => now === connections }
  )

const computers: Grants = { rights: ["computer"], offices: ["team*"], names: ["desk"] }

describe("a connection", () => {
  it.effect("is accepted when the authenticator knows the client", () =>
    Effect.gen(function* () {
      const { connect, load, logs } = yield* serve(yield* guests({ good: guest("me") }))
      const refused = yield* Effect.flip(connect("bad-s3cret"))
      assert.deepInclude<object>(refused, { code: 401, reason: "invalid_credentials" })
      yield* connect("good")
      assert.strictEqual(load().connections, 1)
      assert.isTrue(logs.some(({ level, text }) => level === "Warn" && text.includes("The key is not valid")))
      assert.notInclude(JSON.stringify(logs), "s3cret")
    })
  )

  it.effect("requires the right to the declared role", () =>
    Effect.gen(function* () {
      const { connect } = yield* serve(yield* guests({ pc: guest("pc", computers) }))
      yield* connect("pc", "computer")
      const refused = yield* Effect.flip(connect("pc", "agent"))
      const message = "'pc' may not be an Agent"
      assert.deepInclude<object>(refused, { code: 403, reason: "role_not_granted", message })
    })
  )

  it.effect("is rejected with expired credentials", () =>
    Effect.gen(function* () {
      const { connect } = yield* serve(yield* guests({ old: guest("old", allGrants, 1000) }))
      yield* TestClock.adjust("1 second")
      assert.deepInclude<object>(yield* Effect.flip(connect("old")), { code: 401, reason: "expired_credentials" })
    })
  )

  it.effect.each([
    ["that hangs, after 15 seconds", {}, 15_000],
    ["that takes longer than the join timeout", { joinTimeout: Duration.seconds(5) }, 5000],
    ["that takes longer than the idle timeout", { idleTimeout: Duration.seconds(5) }, 5000]
  ] as const)("times out with an authenticator %s", ([, limits, millis]) =>
    Effect.gen(function* () {
      const { connect, load } = yield* serve({ ...allowAll, authenticate: () => Effect.never }, limits)
      const attempt = yield* Effect.forkChild(Effect.flip(connect("x")), { startImmediately: true })
      yield* TestClock.adjust(millis - 1)
      assert.isUndefined(attempt.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.isDefined(attempt.pollUnsafe())
      assert.deepInclude<object>(yield* Fiber.join(attempt), { code: 503, reason: "unavailable", retryable: true })
      assert.strictEqual(load().connections, 0)
    })
  )

  it.effect("is accepted without an auth payload", () =>
    Effect.gen(function* () {
      const { load, transport } = yield* serve(allowAll)
      const auth = null as unknown as JsonObject
      yield* transport.connect({ version: PROTOCOL_VERSION, auth, onMessage: () => Effect.succeed([]) })
      assert.strictEqual(load().connections, 1)
    })
  )
})

describe("a join", () => {
  it.effect("requires grants of the role, the office and the name", () =>
    Effect.gen(function* () {
      const { connect, join, load } = yield* serve(yield* guests({ pc: guest("pc", computers) }))
      const link = yield* connect("pc")
      const rows = [
        ["agent", "team", "desk", "'pc' may not be an Agent"],
        ["computer", "ops", "desk", "'pc' may not join office 'ops'"],
        ["computer", "team", "root", "'pc' may not use the name 'root'"]
      ] as const
      for (const [role, office, name, reason] of rows) {
        assert.deepStrictEqual(yield* join(link, role, office, name), [false, reason])
      }
      assert.strictEqual(load().offices, 0)
      assert.deepStrictEqual(yield* join(link, "computer", "team-1", "desk"), [true, null])
    })
  )
})

describe("an identity that expires", () => {
  it.effect("closes its connections at that moment and frees their memberships", () =>
    Effect.gen(function* () {
      const end = Duration.toMillis("2 hours")
      const world = yield* serve(yield* guests({ short: guest("short", allGrants, end), long: guest("long") }))
      const short = yield* world.connect("short")
      const long = yield* world.connect("long")
      yield* world.join(short, "computer", "team", "desk")
      yield* world.join(long, "agent", "team", "me")
      yield* TestClock.adjust(end - 1)
      assert.strictEqual(world.load().connections, 2)
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* short.closed, "credentials expired")
      assert.deepStrictEqual(world.load(), { connections: 1, sessions: 1, offices: 1, calls: 0 })
      assert.isTrue(world.logs.some(({ text }) => text.includes("credentials_expired") && text.includes("short")))
    })
  )
})

describe("an identity that expires by a change of the clock", () => {
  const twoHours = Duration.toMillis("2 hours")
  const endsInAnHour = guests({ short: guest("short", allGrants, Duration.toMillis("1 hour")), long: guest("long") })

  it.effect("joins no office any more", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const { connect, join, load, logs } = yield* serve(yield* endsInAnHour)
        const link = yield* connect("short")
        yield* TestClock.adjust("10 seconds")
        change(twoHours)
        assert.deepStrictEqual(yield* join(link, "computer", "team", "desk"), [false, "The credentials have expired"])
        assert.strictEqual(load().offices, 0)
        assert.isTrue(logs.some(({ text }) => text.includes("join rejected") && text.includes("expired")))
      })
    )
  )

  it.effect("closes its connections at the next check, a second later, and no others", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const { connect, join, load } = yield* serve(yield* endsInAnHour)
        const short = yield* connect("short")
        const long = yield* connect("long")
        yield* join(short, "computer", "team", "desk")
        yield* join(long, "agent", "team", "me")
        yield* TestClock.adjust("10 seconds")
        change(twoHours)
        yield* TestClock.adjust("1 second")
        const closed = Effect.timeoutOption(short.closed, "1 second")
        const closing = yield* Effect.forkChild(closed, { startImmediately: true })
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Fiber.join(closing), Option.some("credentials expired"))
        yield* until(load, 1)
        assert.strictEqual(load().offices, 1)
      })
    )
  )
})

describe("an identity that is revoked", () => {
  it.effect("joins no office any more, even before its connections are closed", () =>
    Effect.gen(function* () {
      const known = yield* guests({ out: guest("out") })
      const { connect, join, load } = yield* serve({ ...known, changes: Stream.never })
      const link = yield* connect("out")
      yield* known.revoke("out")
      const reply = yield* join(link, "computer", "team", "desk")
      assert.deepStrictEqual(reply, [false, "The credentials are not valid any more"])
      assert.strictEqual(load().offices, 0)
    })
  )

  it.effect("closes its connections at once, and no others", () =>
    Effect.gen(function* () {
      const known = yield* guests({ out: guest("out"), in: guest("in") })
      const { connect, load } = yield* serve(known)
      const links = yield* Effect.all([connect("out"), connect("out"), connect("in")])
      yield* known.revoke("out")
      assert.strictEqual(yield* links[0].closed, "credentials revoked")
      assert.strictEqual(yield* links[1].closed, "credentials revoked")
      yield* until(load, 1)
      assert.deepInclude<object>(yield* Effect.flip(connect("out")), { code: 401 })
    })
  )

  it.effect("is rejected when it is revoked during its admission", () =>
    Effect.gen(function* () {
      const known = yield* guests({ out: guest("out") })
      const judging = yield* Deferred.make<void>()
      const { connect, load } = yield* serve({
        ...known,
        authenticate: (handshake) => Effect.tap(known.authenticate(handshake), () => Deferred.await(judging))
      })
      const attempt = yield* Effect.forkChild(Effect.flip(connect("out")), { startImmediately: true })
      yield* Effect.yieldNow
      yield* known.revoke("out")
      yield* Deferred.succeed(judging, undefined)
      assert.deepInclude<object>(yield* Fiber.join(attempt), { code: 401, reason: "invalid_credentials" })
      assert.strictEqual(load().connections, 0)
    })
  )
})

describe("the check of credentials", () => {
  it.effect("watches for changes from its start", () =>
    Effect.gen(function* () {
      let isWatched = false
      const changes = Stream.suspend(() => {
        isWatched = true
        return Stream.never
      })
      const { connections, provide } = yield* makeParts({ authenticator: { ...allowAll, changes } })
      yield* provide(makeAdmission(connections))
      assert.isTrue(isWatched)
    })
  )

  it.effect("closes a connection once, though that takes its time", () =>
    Effect.gen(function* () {
      const reasons: Array<string> = []
      let isStillValid = true
      const authenticator = { ...allowAll, isStillValid: () => isStillValid }
      const { connections, open, provide } = yield* makeParts({ authenticator })
      yield* provide(makeAdmission(connections))
      const close = (reason: string) =>
        Effect.suspend(() => {
          reasons.push(reason)
          return Effect.never
        })
      yield* open(makeLink("a", { close }).link)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(reasons, [])
      isStillValid = false
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(reasons, ["credentials revoked"])
    })
  )

  it.effect("continues and logs after a failure", () =>
    Effect.gen(function* () {
      let isStillValid = () => true
      const { connect, logs } = yield* serve({ ...allowAll, isStillValid: () => isStillValid() })
      const link = yield* connect("x")
      isStillValid = () => {
        throw new Error("no store")
      }
      yield* TestClock.adjust("1 second")
      const errors = logs.filter(({ level }) => level === "Error")
      assert.deepStrictEqual(
        errors.map(({ text }) => text.split("\n")[0]),
        ["[ 'credential check failed' ] Error: no store"]
      )
      isStillValid = () => false
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* link.closed, "credentials revoked")
    })
  )

  it.effect("logs that it gets no changes any more", () =>
    Effect.gen(function* () {
      const { logs } = yield* serve({ ...allowAll, changes: Stream.die(new Error("no watch")) })
      const errors = logs.filter(({ level }) => level === "Error")
      assert.deepStrictEqual(
        errors.map(({ text }) => text.split("\n")[0]),
        ["[ 'credential change watch failed' ] Error: no watch"]
      )
    })
  )
})

describe("admission over Socket.IO", () => {
  const live = Effect.fnUntraced(function* (authenticator: Authenticator["Service"]) {
    const { server, url } = yield* buildWorld("socket.io", { authenticator })
    const client = (options: Partial<SocketIoClient.SocketIoClientOptions>) => SocketIoClient.layer({ url, ...options })
    const connect = (options: Partial<SocketIoClient.SocketIoClientOptions>) =>
      TransportClient.use((transport) =>
        transport.connect({ version: PROTOCOL_VERSION, auth: { role: "agent" }, onMessage: () => Effect.succeed([]) })
      ).pipe(Effect.provide(client(options)))
    return { client, connect, load: server.load }
  })

  /** The URL of a proxy. */
  const listen = (proxy: HttpServer) =>
    Effect.acquireRelease(
      Effect.callback<string>(
        (resume) =>
          void proxy.listen(0, "127.0.0.1", () =>
            resume(Effect.succeed(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`))
          )
      ),
      () => Effect.sync(() => proxy.close())
    )

  for (const transport of ["polling", "websocket"] as const) {
    it.live(`gives machine-readable reasons of rejections over ${transport}`, () =>
      Effect.gen(function* () {
        const { connect } = yield* live(yield* guests({ good: guest("me") }))
        const transports = [transport]
        assert.deepInclude<object>(yield* Effect.flip(connect({ transports, token: "bad" })), {
          _tag: "AdmissionRejected",
          code: 401,
          reason: "invalid_credentials",
          message: "The key is not valid",
          retryable: false
        })
        yield* connect({ transports, token: "good" })
      })
    )
  }

  it.live("closes a revoked connection with the reason", () =>
    Effect.gen(function* () {
      const known = yield* guests({ out: guest("out") })
      const { connect, load } = yield* live(known)
      const link = yield* connect({ token: "out" })
      yield* known.revoke("out")
      assert.strictEqual(yield* link.closed, "transport_closed")
      yield* until(load, 0)
    })
  )

  it.live("requests a new token for every connection, and reports a failure to get one as unreachable", () =>
    Effect.gen(function* () {
      const { connect } = yield* live(yield* guests({ good: guest("me") }))
      const next = yield* Ref.make("bad")
      const token = Ref.get(next)
      assert.strictEqual((yield* Effect.flip(connect({ token })))._tag, "AdmissionRejected")
      yield* Ref.set(next, "good")
      yield* connect({ token })
      const none = yield* Effect.flip(connect({ token: Effect.fail({ message: "it is locked" }) }))
      assert.strictEqual(none._tag, "Unreachable")
      assert.match(none.message, /it is locked/)
    })
  )

  it.live("marks errors of the Server and of proxies as retryable", () =>
    Effect.gen(function* () {
      const broken = yield* live({ ...allowAll, authenticate: () => Effect.die(new Error("a bug")) })
      const here = yield* Effect.flip(broken.connect({}))
      assert.deepInclude<object>(here, { _tag: "AdmissionRejected", code: 500, retryable: true })
      let status = 0
      const url = yield* listen(createServer((_, response) => void response.writeHead(status).end()))
      for (const [answered, permanent] of [
        [403, true],
        [408, false],
        [429, false]
      ] as const) {
        status = answered
        const refused = yield* Effect.flip(broken.connect({ url }))
        assert.deepInclude<object>(refused, { _tag: "Unreachable", permanent })
      }
    })
  )

  it.live("sends the token with the request for the reason of a rejected WebSocket, for proxies", () =>
    Effect.gen(function* () {
      const mismatch = { code: 4008, message: "m", server_version: "0.3.0", client_version: "0.2.0" }
      const proxy = createServer(({ headers }, response) => {
        const known = headers.authorization === "Bearer good"
        response.writeHead(known ? 400 : 401).end(JSON.stringify(known ? mismatch : {}))
      })
      proxy.on("upgrade", (_, socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))
      const { connect } = yield* live(allowAll)
      const url = yield* listen(proxy)
      const refused = yield* Effect.flip(connect({ url, token: "good", transports: ["websocket"] }))
      assert.strictEqual(refused._tag, "VersionRejected")
    })
  )

  const expired: Authenticator["Service"] = {
    ...allowAll,
    authenticate: (handshake) =>
      isJsonObject(handshake.auth) && handshake.auth["token"] === "fresh"
        ? allowAll.authenticate(handshake)
        : Effect.fail(admissionRejected("expired_credentials", "The key has expired"))
  }
  const member = { role: "computer", office: "team", name: "desk", retryInitialConnect: true } as const
  const quiet = () => ({
    onMessage: () => Effect.succeed([]),
    onJoined: Effect.void,
    onLost: () => Effect.void
  })

  it.live("retries with a renewed token after an expiry", () =>
    Effect.gen(function* () {
      const { client, load } = yield* live(expired)
      const tokens = yield* Ref.make(["stale", "fresh"])
      const token = Ref.modify(tokens, ([first = "fresh", ...others]) => [first, others])
      yield* Effect.provide(joinOffice(member, quiet), client({ token }))
      assert.strictEqual(load().connections, 1)
    })
  )

  it.live("never retries with a fixed token after an expiry", () =>
    Effect.gen(function* () {
      const { client } = yield* live(expired)
      const refused = yield* Effect.flip(Effect.provide(joinOffice(member, quiet), client({ token: "stale" })))
      assert.strictEqual(refused.message, "The key has expired")
    })
  )
})
