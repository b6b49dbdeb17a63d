import { request as httpRequest } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Result, type Scope } from "effect"
import { io, Manager } from "socket.io-client"
import * as SocketIoClient from "../../src/adapters/socketio/client/SocketIoClient.ts"
import * as MemoryCluster from "../../src/adapters/memory/MemoryCluster.ts"
import type { RelayServerOptions } from "../../src/adapters/socketio/RelayServer.ts"
import { allowAll, Authenticator } from "../../src/application/ports/Authenticator.ts"
import { ServedLines, AdmissionRejected, TransportClient } from "../../src/application/ports/Transport.ts"
import { Server } from "../../src/application/server/lifecycle/Server.ts"
import { defaultLine, type Lines, linesNamed } from "../../src/domain/wire/lines.ts"
import { extendLine } from "../../src/domain/wire/ProtocolLine.ts"
import { parseVersion } from "../../src/domain/wire/version.ts"
import { computerUnderTest, agentUnderTest } from "./members.ts"
import { engines } from "../adapters/socketio/engines.ts"
import { conform } from "./World.ts"
import { Observability } from "../../src/application/server/observability/Observability.ts"

interface HttpAnswer {
  readonly status: number
  readonly headers: { readonly [name: string]: unknown }
  readonly body: string
}

for (const [engine, makeServer] of engines) {
  const serve = (
    { lines = linesNamed(["0.2"]), ...options }: RelayServerOptions & { readonly lines?: Lines } = {},
    authenticator: Authenticator["Service"] = allowAll
  ): Effect.Effect<string, never, Scope.Scope> =>
    Server.layer.pipe(
      Layer.provide(makeServer(options)),
      Layer.provide(MemoryCluster.layer),
      Layer.provide([Layer.succeed(Authenticator, authenticator), Observability.layerNone]),
      Layer.provide(Layer.succeed(ServedLines, lines)),
      Layer.fresh,
      Layer.build,
      Effect.map((context) => Context.get(context, Server).url),
      Effect.orDie
    )

  const get = (
    url: string,
    { headers = {}, method = "GET" }: { readonly method?: string; readonly headers?: Record<string, string> } = {}
  ) =>
    Effect.promise(async (): Promise<HttpAnswer> => {
      const response = await fetch(url, { method, headers })
      return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
    })

  const upgradeHeaders = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": Buffer.from("0123456789abcdef").toString("base64")
  }

  /** Sends a raw WebSocket handshake; gives the HTTP response. */
  const upgrade = (url: string) => request(url, { headers: upgradeHeaders })

  /** Sends an HTTP request; gives its response. */
  const request = (url: string, options: { readonly method?: string; readonly headers: Record<string, string> }) =>
    Effect.callback<HttpAnswer>((resume) => {
      const request = httpRequest(url, options)
      request.on("upgrade", (response, socket) => {
        socket.destroy()
        resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, body: "" }))
      })
      request.on("response", (response) => {
        let body = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => {
          body += chunk
        })
        response.on("end", () =>
          resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, body }))
        )
      })
      request.on("error", (error) => resume(Effect.die(error)))
      request.end()
    })

  const polling = (url: string, query: string) => get(`${url}/smcp/?EIO=4&transport=polling${query}`)
  const missing = { code: 400, message: "Missing a2c_version query parameter" }
  const mismatch = (client_version: string) => ({
    code: 4008,
    message: "Protocol version mismatch",
    server_version: "0.2.0",
    client_version,
    min_supported: "0.2.0",
    max_supported: "0.2.999"
  })
  const bodyOf = ({ body }: HttpAnswer) => JSON.parse(body) as { readonly code: number; readonly message: string }

  describe(`version gate over HTTP, with ${engine}`, () => {
    it.live("cases 001, 002: rejects a missing or empty version, also beside an empty session id", () =>
      Effect.gen(function* () {
        const url = yield* serve()
        for (const query of ["", "&a2c_version=", "&sid=", "&sid=x&sid="]) {
          const answer = yield* polling(url, query)
          assert.strictEqual(answer.status, 400)
          assert.deepStrictEqual(bodyOf(answer), missing)
        }
      }).pipe(Effect.scoped)
    )

    it.live("cases 003 to 007: rejects an invalid version", () =>
      Effect.gen(function* () {
        const url = yield* serve()
        const texts = ["abc", "0.2", "0.2.0.1", "0.2.x", "v0.2.0", "0.2.0-dev", "-0.2.0", "0.2.%200"]
        for (const text of [...texts, "0.2.0&a2c_version=0.3.0"]) {
          const answer = yield* polling(url, `&a2c_version=${text}`)
          assert.strictEqual(answer.status, 400)
          assert.strictEqual(bodyOf(answer).code, 400)
          assert.match(bodyOf(answer).message, /^Invalid a2c_version: /)
        }
      }).pipe(Effect.scoped)
    )

    it.live("cases 008, 009, 010, 011: rejects another line, and accepts another patch", () =>
      Effect.gen(function* () {
        const url = yield* serve()
        for (const version of ["0.3.0", "0.1.5", "1.0.0"]) {
          const answer = yield* polling(url, `&a2c_version=${version}`)
          assert.strictEqual(answer.status, 400)
          assert.strictEqual(answer.headers["x-a2c-error-code"], "4008")
          assert.match(String(answer.headers["content-type"]), /json/)
          assert.deepStrictEqual(bodyOf(answer), mismatch(version))
        }
        const opened = yield* polling(url, "&a2c_version=0.2.7")
        assert.strictEqual(opened.status, 200)
        assert.match(opened.body, /^0\{/)
      }).pipe(Effect.scoped)
    )

    it.live("cases 012 to 016: accepts older clients from 1.0 on", () =>
      Effect.gen(function* () {
        const rows = [
          ["1.2.0", "1.0.0", 200],
          ["1.0.0", "1.2.0", 400],
          ["1.0.0", "1.0.9", 200],
          ["1.9.0", "2.0.0", 400],
          ["0.2.3", "0.2.0", 200]
        ] as const
        for (const [version, client, status] of rows) {
          const line = extendLine(defaultLine, { name: version, version: Result.getOrThrow(parseVersion(version)) })
          const url = yield* serve({ lines: [line] })
          assert.strictEqual((yield* polling(url, `&a2c_version=${client}`)).status, status)
        }
      }).pipe(Effect.scoped)
    )

    it.live("cases 017, 018, 019: checks WebSocket handshakes like other requests", () =>
      Effect.gen(function* () {
        const url = yield* serve()
        const path = `${url}/smcp/?EIO=4&transport=websocket`
        const unversioned = yield* upgrade(path)
        assert.strictEqual(unversioned.status, 400)
        assert.deepStrictEqual(bodyOf(unversioned), missing)
        const newer = yield* upgrade(`${path}&a2c_version=0.3.0`)
        assert.strictEqual(newer.status, 400)
        assert.strictEqual(newer.headers["x-a2c-error-code"], "4008")
        assert.deepStrictEqual(bodyOf(newer), mismatch("0.3.0"))
        assert.strictEqual((yield* upgrade(`${path}&a2c_version=0.2.0`)).status, 101)
      }).pipe(Effect.scoped)
    )

    it.live("cases 020, 021: stays in force after a failing connect handler, without ending the process", () =>
      Effect.gen(function* () {
        const url = yield* serve({}, { ...allowAll, authenticate: () => Effect.die("broken") })
        assert.deepStrictEqual(bodyOf(yield* polling(url, "&a2c_version=0.3.0")), mismatch("0.3.0"))
        assert.strictEqual((yield* polling(url, "&a2c_version=0.2.0")).status, 200)
        const error = yield* Effect.flip(connectWith(url, {}))
        assert.isTrue(error._tag === "AdmissionRejected" && error.code === 500)
        assert.strictEqual((yield* polling(url, "&a2c_version=0.2.0")).status, 200)
      }).pipe(Effect.scoped)
    )

    it.live("cases 022, 023: checks only the path of Socket.IO, with and without its slash", () =>
      Effect.gen(function* () {
        const url = yield* serve()
        for (const path of ["/other", "/smcpx/?EIO=4", "/"]) assert.strictEqual((yield* get(url + path)).status, 404)
        const opened = yield* get(`${url}/smcp?EIO=4&transport=polling&a2c_version=0.2.0`)
        assert.strictEqual(opened.status, 200)
      }).pipe(Effect.scoped)
    )

    it.live("case 024: accepts an open session without a version, and rejects another version", () =>
      Effect.gen(function* () {
        const url = yield* serve()
        const opened = yield* polling(url, "&a2c_version=0.2.0")
        const { sid } = JSON.parse(opened.body.slice(1)) as { readonly sid: string }
        const post = yield* Effect.promise(() =>
          fetch(`${url}/smcp/?EIO=4&transport=polling&sid=${sid}`, { method: "POST", body: "40/smcp," })
        )
        assert.strictEqual(post.status, 200)
        assert.match((yield* polling(url, `&sid=${sid}`)).body, /^40\/smcp,/)
        assert.strictEqual((yield* polling(url, `&sid=${sid}&a2c_version=0.3.0`)).status, 400)
      }).pipe(Effect.scoped)
    )

    it.live("case 026: allows pages of listed origins to read responses, and no others", () =>
      Effect.gen(function* () {
        const origin = "https://app.example"
        const url = yield* serve({ allowedOrigins: [origin] })
        const path = `${url}/smcp/?EIO=4&transport=polling`
        const preflight = yield* get(path, {
          method: "OPTIONS",
          headers: { Origin: origin, "Access-Control-Request-Method": "POST" }
        })
        assert.strictEqual(preflight.status, 204)
        assert.strictEqual(preflight.headers["access-control-allow-origin"], origin)
        const response = yield* get(path, { headers: { Origin: origin } })
        assert.strictEqual(response.status, 400)
        assert.strictEqual(response.headers["access-control-allow-origin"], origin)
        const foreign = yield* get(`${path}&a2c_version=0.2.0`, { headers: { Origin: "https://evil.example" } })
        assert.strictEqual(foreign.status, 403)
        assert.isUndefined(foreign.headers["access-control-allow-origin"])
      }).pipe(Effect.scoped)
    )
  })

  describe(`Origin check, with ${engine}`, () => {
    const polling = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0"
    const webSocket = "/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0"
    const listed = ["https://a2c.example"]
    const ofPage = (origin: string) => ({ Host: new URL(origin).host, Origin: origin })
    const statuses = (url: string, origin: string) =>
      Effect.gen(function* () {
        const one = yield* request(url + polling, { headers: ofPage(origin), method: "POST" })
        const two = yield* request(url + webSocket, { headers: { ...upgradeHeaders, ...ofPage(origin) } })
        return [one.status, two.status]
      })

    for (const [origin, allowedOrigins] of [
      ["http://evil.example:7070", undefined],
      ["https://evil-a2c.example", listed],
      ["https://evil.a2c.example", listed],
      ["https://a2c.example.evil.example", listed],
      ["http://a2c.example", listed],
      ["https://a2c.example:444", listed],
      ["http://evil-localhost:7070", listed]
    ] as const) {
      it.live(
        `rejects a page of ${origin} when ${allowedOrigins === undefined ? "no origin" : String(allowedOrigins)} is listed`,
        () =>
          Effect.gen(function* () {
            const url = yield* serve({ ...(allowedOrigins !== undefined && { allowedOrigins }) })
            assert.deepStrictEqual(yield* statuses(url, origin), [403, 403])
          }).pipe(Effect.scoped)
      )
    }

    it.live("accepts pages of the Server's address and of a listed name", () =>
      Effect.gen(function* () {
        const url = yield* serve({ allowedOrigins: listed })
        for (const origin of [url, "http://localhost:7070", "http://[::1]:7070", "https://a2c.example"]) {
          const [, status] = yield* statuses(url, origin)
          assert.strictEqual(status, 101, origin)
        }
      }).pipe(Effect.scoped)
    )
  })

  const connectWith = (url: string, options: Partial<SocketIoClient.SocketIoClientOptions>) =>
    TransportClient.pipe(
      Effect.flatMap((transport) =>
        transport.connect({ version: "0.2.0", auth: { role: "agent" }, onMessage: () => Effect.succeed([]) })
      ),
      Effect.provide(SocketIoClient.layer({ url, ...options }), { local: true })
    )

  /** A server that rejects every handshake with this response, and its requests. */
  const rejectingServer = (status: number, body: string) =>
    Effect.gen(function* () {
      const urls: Array<string> = []
      const { createServer } = yield* Effect.promise(() => import("node:http"))
      const server = yield* Effect.acquireRelease(
        Effect.sync(() =>
          createServer((request, response) => {
            urls.push(request.url ?? "")
            response.writeHead(status, { "Content-Type": "application/json" }).end(body)
          })
        ),
        (one) =>
          Effect.callback<void>((resume) => {
            one.closeAllConnections()
            one.close(() => resume(Effect.void))
          })
      )
      yield* Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      })
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      return { url: `http://127.0.0.1:${port}`, urls }
    })

  describe(`client at a rejecting gate, with ${engine}`, () => {
    it.live("case 338: reports both versions of a mismatch after one attempt", () =>
      Effect.gen(function* () {
        const { url, urls } = yield* rejectingServer(
          400,
          JSON.stringify({ ...mismatch("0.2.0"), min_supported: "0.3.0", max_supported: "0.3.999" })
        )
        const error = yield* Effect.flip(connectWith(url, {}))
        assert.isTrue(error._tag === "VersionRejected")
        assert.include(error.message, "0.3.0 to 0.3.999")
        assert.include(error.message, "use the protocol 0.3")
        assert.strictEqual(urls.length, 1)
      }).pipe(Effect.scoped)
    )

    it.live("case 339: requests the reason over HTTP once for WebSocket", () =>
      Effect.gen(function* () {
        const url = yield* serve({ lines: linesNamed(["0.3"]) })
        const error = yield* Effect.flip(connectWith(url, { transports: ["websocket"] }))
        assert.isTrue(error._tag === "VersionRejected" && error.mismatch?.server_version === "0.3.1")
      }).pipe(Effect.scoped)
    )

    it.live("cases 340, 341: treats other rejections as connection errors, also that of a lost session", () =>
      Effect.gen(function* () {
        for (const body of ["not json", JSON.stringify({ code: 1, message: "Session ID unknown" })]) {
          const { url } = yield* rejectingServer(400, body)
          assert.strictEqual((yield* Effect.flip(connectWith(url, {})))._tag, "Unreachable")
        }
        const stripped = yield* rejectingServer(400, JSON.stringify(missing))
        const error = yield* Effect.flip(connectWith(stripped.url, {}))
        assert.isTrue(error._tag === "AdmissionRejected" && error.message.includes("a2c_version"))
      }).pipe(Effect.scoped)
    )

    it.live("case 342: sends the version in the first request, over polling", () =>
      Effect.gen(function* () {
        const { url, urls } = yield* rejectingServer(400, "{}")
        yield* Effect.flip(connectWith(url, {}))
        const query = new URL(urls[0] ?? "", url).searchParams
        assert.strictEqual(query.get("a2c_version"), "0.2.0")
        assert.strictEqual(query.get("transport"), "polling")
      }).pipe(Effect.scoped)
    )

    it.live("fails for an unreachable and for an invalid address", () =>
      Effect.gen(function* () {
        const unreachable = yield* Effect.flip(connectWith("http://127.0.0.1:9", {}))
        assert.isTrue(unreachable._tag === "Unreachable" && unreachable.message.includes("http://127.0.0.1:9"))
        for (const invalid of ["nonsense", "ftp://h"]) {
          assert.strictEqual((yield* Effect.flip(connectWith(invalid, {})))._tag, "Unreachable")
        }
      }).pipe(Effect.scoped)
    )

    it.live("case 116: ignores the second reply of a Computer", () =>
      Effect.gen(function* () {
        const url = yield* serve()
        const member = (role: string) =>
          Effect.acquireRelease(
            Effect.sync(() =>
              io(`${url}/smcp`, { path: "/smcp", query: { a2c_version: "0.2.0" }, auth: { role }, forceNew: true })
            ),
            (socket) => Effect.sync(() => socket.disconnect())
          )
        const [agent, computer] = [yield* member("agent"), yield* member("computer")]
        computer.on("client:get_tools", (_request: unknown, ack: (answer: object) => void) => {
          ack({ first: true })
          ack({ second: true })
        })
        const request = (socket: typeof agent, event: string, body: object) =>
          Effect.promise(() => socket.emitWithAck(event, body) as Promise<unknown>)
        yield* request(agent, "server:join_office", { role: "agent", name: "a", office_id: "O" })
        yield* request(computer, "server:join_office", { role: "computer", name: "c", office_id: "O" })
        const query = { agent: "a", req_id: "r", computer: "c" }
        for (let count = 0; count < 3; count++) {
          assert.deepStrictEqual(yield* request(agent, "client:get_tools", query), { first: true })
        }
      }).pipe(Effect.scoped)
    )

    it.live("cases 033, 034: accepts only the protocol's namespace", () =>
      Effect.gen(function* () {
        const url = yield* serve()
        const manager = new Manager(url, { path: "/smcp", query: { a2c_version: "0.2.0" }, reconnection: false })
        const socket = (namespace: string) =>
          Effect.acquireRelease(
            Effect.sync(() => manager.socket(namespace)),
            (one) => Effect.sync(() => one.disconnect())
          )
        const nowhere = yield* socket("/nope")
        const message = yield* Effect.callback<string>((resume) => {
          nowhere.once("connect_error", ({ message }) => resume(Effect.succeed(message)))
        })
        assert.strictEqual(message, "Invalid namespace")
        // Both namespaces share one ordered connection: the message to "/" has been handled before.
        const [common, smcp] = [yield* socket("/"), yield* socket("/smcp")]
        common.emit("server:join_office", { role: "computer", name: "ghost", office_id: "O1" })
        const request = (event: string, body: object) =>
          Effect.promise(() => smcp.emitWithAck(event, body) as Promise<unknown>)
        yield* request("server:join_office", { role: "agent", name: "a", office_id: "O1" })
        const listed = yield* request("server:list_room", { agent: "a", req_id: "r", office_id: "O1" })
        assert.notInclude(JSON.stringify(listed), "ghost")
      }).pipe(Effect.scoped)
    )
  })

  describe(`host authentication, with ${engine}`, () => {
    const wrongToken = { code: 401, message: "Wrong token" }
    const authenticator: Authenticator["Service"] = {
      ...allowAll,
      authenticate: (handshake) =>
        (handshake.auth as { readonly token?: unknown }).token === "good"
          ? allowAll.authenticate(handshake)
          : Effect.fail(new AdmissionRejected(wrongToken))
    }

    conform(
      "cases 031, 032, 360: rejects and logs a wrong token, and accepts the right one",
      (world) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(world.connect({ auth: { role: "agent", token: "bad-s3cret" } }))
          assert.strictEqual(error.code, 401)
          yield* world.connect({ auth: { role: "agent", token: "good" } })
          assert.isTrue(world.logs.some(({ level, text }) => level === "Warn" && text.includes("401")))
          assert.notInclude(JSON.stringify(world.logs), "bad-s3cret")
        }),
      { authenticator }
    )
  })

  describe(`member at a gate of another line, with ${engine}`, () => {
    conform(
      "case 338: fails with the version error as Agent and as Computer",
      (world) =>
        Effect.gen(function* () {
          const attempts: ReadonlyArray<Effect.Effect<unknown, never, Scope.Scope>> = [
            agentUnderTest(world),
            computerUnderTest(world)
          ]
          for (const attempt of attempts) {
            const rejection = JSON.stringify(yield* Effect.exit(attempt))
            assert.include(rejection, "VersionRejected")
            assert.include(rejection, "0.3.0")
          }
        }),
      { lines: ["0.3"] }
    )
  })
}
