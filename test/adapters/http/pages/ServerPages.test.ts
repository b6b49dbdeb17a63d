import { request } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Layer, Metric } from "effect"
import { io } from "socket.io-client"
import { AuditLog } from "../../../../src/application/ports/AuditLog.ts"
import { allowAll, Authenticator } from "../../../../src/application/ports/Authenticator.ts"
import { AdmissionRejected, type Handshake } from "../../../../src/application/ports/Transport.ts"
import { Server } from "../../../../src/application/server/lifecycle/Server.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { allGrants } from "../../../../src/domain/model/Identity.ts"
import { serverLayer } from "../../../../src/main/layers/serverLayer.ts"
import { parsePrometheus } from "../../../prometheus.ts"
import { type TestBody, liveWith } from "../../../testWith.ts"
import { portDefaults } from "../../../portDefaults.ts"

interface Page {
  readonly status: number
  readonly headers: { readonly [name: string]: unknown }
  readonly text: string
}

/** Requests a page with any `Host` header, which `fetch` does not allow. */
const get = (url: string, path: string, headers: { readonly [name: string]: string } = {}, method = "GET") =>
  Effect.callback<Page, Error>((resume) => {
    request(new URL(path, url), { headers, method, agent: false }, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => (text += chunk))
      response.on("end", () =>
        resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, text }))
      )
    })
      .on("error", (error) => resume(Effect.fail(error)))
      .end()
  })

type Options = Parameters<typeof serverLayer>[0]

/** A Server on a free port, with separate metrics. */
const serve = Effect.fnUntraced(function* (options: Options = {}, authenticator = allowAll) {
  const context = yield* serverLayer(options).pipe(
    Layer.provide([Layer.succeed(Authenticator, authenticator), portDefaults]),
    Layer.provide(Layer.succeed(Metric.MetricRegistry, new Map())),
    Layer.fresh,
    Layer.build
  )
  return Context.get(context, Server).url
})

const live = (title: string, options: Options, body: TestBody<string>) => liveWith(serve(options))(title, body)

const authenticator = (authenticate: Authenticator["Service"]["authenticate"]): Authenticator["Service"] => ({
  ...allowAll,
  requiresCredentials: true,
  authenticate
})

/** Accepts an operator and an Agent by their tokens, and records handshakes. */
const guards = () => {
  const shown: Array<Handshake> = []
  const service = authenticator((handshake) => {
    shown.push(handshake)
    const token = handshake.headers["authorization"] ?? handshake.headers["x-api-key"]
    const identity = (subject: string, rights: typeof allGrants.rights) =>
      Effect.succeed({ subject, grants: { ...allGrants, rights }, expiresAt: undefined })
    if (token === "Bearer of-yesterday")
      return Effect.succeed({ subject: "olga", grants: allGrants, expiresAt: Date.now() - 1000 })
    if (token === "Bearer of-operator" || token === "of-operator") return identity("olga", ["operator"])
    if (token === "Bearer of-agent") return identity("alan", ["agent"])
    return Effect.fail(new AdmissionRejected({ code: 401, message: "no such token" }))
  })
  return { service, shown }
}

describe("the pages of a Server", () => {
  live("shows liveness and readiness", {}, function* (url) {
    const [health, ready] = [yield* get(url, "/healthz"), yield* get(url, "/readyz")]
    assert.deepStrictEqual([health.status, health.text], [200, "ok\n"])
    assert.deepStrictEqual([ready.status, ready.text], [200, "ready\n"])
    assert.strictEqual(ready.headers["cache-control"], "no-store")
  })

  live("shows metrics in the format of Prometheus", {}, function* (url) {
    // A rejected request to the path of Socket.IO counts.
    assert.strictEqual((yield* get(url, "/smcp/?EIO=4")).status, 400)
    const page = yield* get(url, "/metrics")
    assert.strictEqual(page.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
    const samples = parsePrometheus(page.text)
    assert.strictEqual(samples.get('a2c_connections_rejected_total{code="400"}'), 1)
    assert.strictEqual(samples.get("a2c_ready"), 1)
    assert.isAbove(samples.get("a2c_process_resident_memory_bytes") ?? 0, 1_000_000)
    assert.isTrue([...samples.keys()].every((name) => name.startsWith("a2c_")))
  })

  live("shows the status as JSON, with offices on request", {}, function* (url) {
    const status = JSON.parse((yield* get(url, "/status")).text) as Record<string, unknown>
    assert.strictEqual(status["state"], "ready")
    assert.deepStrictEqual(status["members"], { agents: 0, computers: 0 })
    assert.notProperty(status, "officeList")
    const more = JSON.parse((yield* get(url, "/status?offices=1")).text) as Record<string, unknown>
    assert.deepStrictEqual(more["officeList"], [])
  })

  live("answers GET and HEAD only", {}, function* (url) {
    const [head, post] = [yield* get(url, "/status", {}, "HEAD"), yield* get(url, "/status", {}, "POST")]
    assert.deepStrictEqual([head.status, head.text], [200, ""])
    assert.deepStrictEqual([post.status, post.headers["allow"]], [405, "GET, HEAD"])
    assert.strictEqual((yield* get(url, "/other")).status, 404)
    assert.strictEqual((yield* get(url, "/metrics/")).status, 404)
  })

  live("rejects foreign origins and host names", { allowedOrigins: ["*"] }, function* (url) {
    const { port } = new URL(url)
    for (const path of ["/metrics", "/status"]) {
      assert.strictEqual((yield* get(url, path, { host: `evil.example:${port}` })).status, 403)
      assert.strictEqual((yield* get(url, path, { host: `localhost:${port}` })).status, 200)
      const page = yield* get(url, path, { origin: "http://evil.example" })
      assert.notProperty(page.headers, "access-control-allow-origin")
    }
  })
})

describe("the audit of a Server", () => {
  /** The events of the audit, and the layer that records them. */
  const makeAudit = () => {
    const events: Array<JsonObject> = []
    const audit = AuditLog.of({ record: ({ fields }) => void events.push(fields), lostCount: () => 0 })
    return { events, layer: Layer.succeed(AuditLog, audit) }
  }
  const refused = (code: number, reason: string) => ({
    type: "connection_refused",
    remote: "127.0.0.1",
    code,
    reason,
    sid: undefined
  })

  it.live("gets rejected requests for pages", () =>
    Effect.gen(function* () {
      const { events, layer } = makeAudit()
      const url = yield* Effect.provide(serve({}, guards().service), layer)
      yield* get(url, "/status?offices=1", { authorization: "Bearer guess" })
      yield* get(url, "/metrics", { authorization: "Bearer of-agent" })
      yield* get(url, "/metrics", { authorization: "Bearer of-operator" })
      assert.deepStrictEqual(events, [
        refused(401, "/status: no such token"),
        refused(403, "/metrics: 'alan' is not an operator")
      ])
    })
  )

  it.live("gets requests with a foreign host, origin or protocol version", () =>
    Effect.gen(function* () {
      const { events, layer } = makeAudit()
      const url = yield* Effect.provide(serve(), layer)
      yield* get(url, "/status", { host: "evil.example" })
      yield* get(url, "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0", { origin: "https://evil.example" })
      yield* get(url, "/smcp/?EIO=4&transport=polling&a2c_version=0.9.0")
      yield* get(url, "/smcp/?EIO=4&transport=polling")
      assert.deepStrictEqual(events, [
        refused(403, "/status: foreign Host header"),
        refused(403, "Origin not allowed"),
        refused(4008, "Protocol version mismatch"),
        refused(400, "Missing a2c_version query parameter")
      ])
    })
  )

  it.live("gets requests above the size limit", () =>
    Effect.gen(function* () {
      const { events, layer } = makeAudit()
      const url = yield* Effect.provide(serve({ maxMessageBytes: 1000, validateBytes: 100 }), layer)
      const socket = io(`${url}/smcp`, { path: "/smcp", query: { a2c_version: "0.2.0" }, transports: ["websocket"] })
      yield* Effect.addFinalizer(() => Effect.sync(() => socket.disconnect()))
      const body = { agent: "eve", req_id: "r", computer: "pc-1", text: "x".repeat(1500) }
      const reply = yield* Effect.promise(async (): Promise<unknown> => socket.emitWithAck("client:new", body))
      assert.deepInclude(reply, { code: 413 })
      assert.deepInclude(events[0], { type: "request_refused", event: "client:new", code: 413 })
    })
  )
})

describe("the pages of a Server with an authenticator", () => {
  it.live("shows numbers to operators with a token in a header only", () =>
    Effect.gen(function* () {
      const { service, shown } = guards()
      const url = yield* serve({}, service)
      const statusOf = (path: string, headers: { readonly [name: string]: string }) =>
        Effect.map(get(url, path, headers), ({ status }) => status)
      for (const path of ["/metrics", "/status"]) {
        assert.strictEqual(yield* statusOf(path, {}), 401)
        assert.strictEqual(yield* statusOf(path, { authorization: "Bearer guess" }), 401)
        assert.strictEqual(yield* statusOf(path, { authorization: "Bearer of-yesterday" }), 401)
        assert.strictEqual(yield* statusOf(path, { authorization: "Bearer of-agent" }), 403)
        assert.strictEqual(yield* statusOf(path, { authorization: "Bearer of-operator" }), 200)
        assert.strictEqual(yield* statusOf(path, { "x-api-key": "of-operator" }), 200)
      }
      assert.strictEqual(shown[0]?.remoteAddress, "127.0.0.1")
      assert.strictEqual((yield* get(url, "/status")).headers["www-authenticate"], "Bearer")
    })
  )

  it.live("shows liveness and readiness to all clients", () =>
    Effect.gen(function* () {
      const url = yield* serve({}, guards().service)
      assert.strictEqual((yield* get(url, "/healthz")).status, 200)
      assert.strictEqual((yield* get(url, "/readyz")).status, 200)
    })
  )

  it.live("rejects requests when the authenticator is unavailable", () =>
    Effect.gen(function* () {
      const broken = yield* serve(
        {},
        authenticator(() => Effect.die(new Error("the keys are gone")))
      )
      const page = yield* get(broken, "/status")
      assert.deepStrictEqual([page.status, page.text], [500, "internal error\n"])
    })
  )

  it.live("sends no response after the Server has closed", () =>
    Effect.gen(function* () {
      const requests = yield* Deferred.make<void>()
      const url = yield* serve(
        {},
        authenticator(() => Effect.andThen(Deferred.succeed(requests, undefined), Effect.never))
      )
      // The scope of the test closes while the authenticator runs, and must not wait for it.
      yield* Effect.forkScoped(Effect.ignore(get(url, "/status")))
      yield* Deferred.await(requests)
    })
  )
})
