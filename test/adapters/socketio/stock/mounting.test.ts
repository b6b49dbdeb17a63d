import { readFileSync } from "node:fs"
import { createServer, type Server as HttpServer } from "node:http"
import { connect, createSecureServer, type Http2SecureServer } from "node:http2"
import type { AddressInfo } from "node:net"
import { instrument } from "@socket.io/admin-ui"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Queue, Scope } from "effect"
import { Server as SocketIo, type ServerOptions } from "socket.io"
import { type Socket } from "socket.io-client"
import { WebSocket, WebSocketServer } from "ws"
import type * as SocketIoClient from "../../../../src/adapters/socketio/client/SocketIoClient.ts"
import * as SocketIoServer from "../../../../src/adapters/socketio/SocketIoServer.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { type Link } from "../../../../src/application/ports/Transport.ts"
import { fetchText } from "../../../fetchText.ts"
import { connectLink, echoMessage, openSocket, serveQueue } from "../links.ts"
import { liveWith } from "../../../testWith.ts"

/** An HTTP server of the host that listens. */
const hostServer = Effect.acquireRelease(
  Effect.callback<HttpServer>((resume) => {
    const http = createServer((_, response) => void response.end("host"))
    http.listen(0, "127.0.0.1", () => resume(Effect.succeed(http)))
  }),
  (http) =>
    Effect.callback<void>((resume) => {
      http.closeAllConnections()
      http.close(() => resume(Effect.void))
    })
)

const originOf = (http: HttpServer): string => `http://127.0.0.1:${(http.address() as AddressInfo).port}`

/** A Socket.IO server of the host, with a namespace that echoes. */
const hostIo = (options: Partial<ServerOptions> = {}) =>
  Effect.gen(function* () {
    const http = yield* hostServer
    const io = yield* Effect.acquireRelease(
      Effect.sync(() => new SocketIo(http, options)),
      (open) => Effect.promise(() => open.close())
    )
    io.of("/host").on("connection", (socket) => {
      socket.on("echo", (value: unknown, reply: (value: unknown) => void) => reply(value))
    })
    return { http, io, origin: originOf(http) }
  })

/** Mounts a Server that echoes, until `unmount`. */
const mount = Effect.fnUntraced(function* (options: SocketIoServer.SocketIoServerOptions) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const office = yield* Scope.provide(serveQueue(SocketIoServer.layer(options)), scope)
  return { ...office, unmount: Scope.close(scope, Exit.void) }
})

const member = (options: SocketIoClient.SocketIoClientOptions) =>
  connectLink(options, { auth: {}, onMessage: echoMessage })

const echo = (link: Link, value: unknown) =>
  Effect.map(link.request("x", jsonBody(value), Duration.minutes(1)), ([body]) => body?.head)

const connected = (socket: Socket) =>
  Effect.callback<void, Error & { readonly data?: unknown }>((resume) => {
    socket.once("connect", () => resume(Effect.void))
    socket.once("connect_error", (error) => resume(Effect.fail(error)))
  })

const received = (socket: Socket, event: string) =>
  Effect.callback<ReadonlyArray<unknown>>((resume) => {
    socket.once(event, (...args: ReadonlyArray<unknown>) => resume(Effect.succeed(args)))
  })

const statusOf = (url: string) => Effect.promise(async () => (await fetch(url)).status)
/** The status of the response to an upgrade, 101 for an accepted one. */
const upgradeStatus = (url: string) =>
  Effect.callback<number>((resume) => {
    const socket = new WebSocket(url.replace("http", "ws"))
    socket.on("error", () => undefined)
    socket.once("open", () => {
      socket.terminate()
      resume(Effect.succeed(101))
    })
    socket.once("unexpected-response", (_, { statusCode = 0 }) => {
      socket.terminate()
      resume(Effect.succeed(statusCode))
    })
  })

describe("an office on an HTTP server of the host", () => {
  const live = liveWith(hostServer)

  live("serves members, and leaves other requests to the host", function* (httpServer) {
    const { url } = yield* mount({ httpServer })
    assert.strictEqual(url, originOf(httpServer))
    assert.deepStrictEqual((yield* echo(yield* member({ url }), { a: 1 }))?._tag, "Success")
    assert.strictEqual(yield* fetchText(`${url}/smcp-docs`), "host")
  })

  live("leaves other upgrades to the host", function* (httpServer) {
    const own = new WebSocketServer({ server: httpServer, path: "/own" })
    yield* Effect.addFinalizer(() => Effect.sync(() => own.close()))
    const { url } = yield* mount({ httpServer })
    assert.strictEqual(yield* upgradeStatus(`${url}/own`), 101)
    const link = yield* member({ url, transports: ["websocket"] })
    assert.deepStrictEqual((yield* echo(link, 1))?._tag, "Success")
  })

  live("leaves other upgrades to the host as plain requests when it has no listener for them", function* (httpServer) {
    const { url } = yield* mount({ httpServer })
    assert.strictEqual(yield* upgradeStatus(`${url}/other`), 200)
  })

  live("leaves later upgrades of a Socket.IO server of the host to it", function* (httpServer) {
    const first = yield* mount({ httpServer })
    const io = yield* Effect.acquireRelease(
      Effect.sync(() => new SocketIo(httpServer)),
      (open) => Effect.promise(() => open.close())
    )
    const second = yield* mount({ httpServer, paths: ["/second"] })
    io.on("connection", (socket) => void socket.on("echo", (value, reply) => reply(value)))
    const socket = yield* openSocket(first.url, { transports: ["websocket"] })
    yield* connected(socket)
    yield* first.unmount
    assert.strictEqual(yield* Effect.promise(() => socket.emitWithAck("echo", 1)), 1)
    assert.strictEqual(yield* fetchText(`${first.url}/other`), "host")
    assert.deepStrictEqual((yield* echo(yield* member({ url: second.url }), 1))?._tag, "Success")
    yield* second.unmount
    assert.strictEqual(yield* fetchText(`${first.url}/other`), "host")
    yield* connected(yield* openSocket(first.url))
  })

  live("leaves the server of the host as it was when it closes", function* (httpServer) {
    httpServer.once("upgrade", () => undefined)
    const state = () => [
      httpServer.rawListeners("request"),
      httpServer.rawListeners("upgrade"),
      Object.hasOwn(httpServer, "emit")
    ]
    const before = state()
    const { unmount, url } = yield* mount({ httpServer })
    yield* unmount
    assert.deepStrictEqual(state(), before)
    assert.strictEqual(yield* fetchText(`${url}/smcp/`), "host")
  })

  live("keeps its requests from listeners that the host adds later", function* (httpServer) {
    const { url } = yield* mount({ httpServer })
    const paths: Array<string | undefined> = []
    httpServer.on("request", ({ url: path }) => void paths.push(path))
    httpServer.prependListener("request", ({ url: path }) => void paths.push(path))
    const link = yield* member({ url, transports: ["polling"] })
    assert.deepStrictEqual((yield* echo(link, 1))?._tag, "Success")
    assert.strictEqual(yield* fetchText(`${url}/later`), "host")
    assert.deepStrictEqual(paths, ["/later", "/later"])
  })

  live("keeps its upgrades from a WebSocket server that the host adds later", function* (httpServer) {
    const { unmount, url } = yield* mount({ httpServer })
    // It rejects the upgrades to all other paths.
    const own = new WebSocketServer({ server: httpServer, path: "/own" })
    yield* Effect.addFinalizer(() => Effect.sync(() => own.close()))
    const link = yield* member({ url, transports: ["websocket"] })
    assert.deepStrictEqual((yield* echo(link, 1))?._tag, "Success")
    assert.strictEqual(yield* upgradeStatus(`${url}/own`), 101)
    yield* unmount
    assert.strictEqual(yield* upgradeStatus(`${url}/own`), 101)
  })

  live("stays below a function of the host that observes the events of its server", function* (httpServer) {
    const first = yield* mount({ httpServer })
    const events: Array<unknown> = []
    const emit = (httpServer as { emit: (...args: ReadonlyArray<unknown>) => boolean }).emit.bind(httpServer)
    const observed = (...args: ReadonlyArray<unknown>) => {
      events.push(args[0])
      return emit(...args)
    }
    Object.assign(httpServer, { emit: observed })
    yield* first.unmount
    const second = yield* mount({ httpServer, paths: ["/second"] })
    assert.deepStrictEqual((yield* echo(yield* member({ url: second.url }), 1))?._tag, "Success")
    yield* second.unmount
    assert.strictEqual(yield* fetchText(`${first.url}/smcp/`), "host")
    assert.include(events, "request")
  })

  it.live("has no URL before the host listens", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* mount({ httpServer: createServer() })).url, "")
    })
  )
})

describe("two offices on an HTTP server of the host", () => {
  const live = liveWith(hostServer)

  /** Both offices, a poll of each that waits, and what each request of the host gets: one answer. */
  const two = Effect.gen(function* () {
    const httpServer = yield* hostServer
    const listeners = httpServer.rawListeners("request")
    const first = yield* mount({ httpServer })
    const second = yield* mount({ httpServer, paths: ["/second"] })
    const origin = originOf(httpServer)
    const polls = yield* Effect.forEach([first, second], ({ url }) => member({ url, transports: ["polling"] }))
    const works = ({ url }: typeof first) => Effect.exit(Effect.flatMap(member({ url }), (link) => echo(link, 1)))
    return { httpServer, listeners, first, second, origin, polls, works }
  })

  it.live("leaves one listener to the host when the first of two offices closes first", () =>
    Effect.gen(function* () {
      const { first, httpServer, listeners, origin, polls, second, works } = yield* two
      yield* first.unmount
      yield* polls[0]?.closed ?? Effect.void
      for (const path of ["/", "/smcp/", "/smcp/?EIO=4&transport=polling"]) {
        assert.strictEqual(yield* fetchText(`${origin}${path}`), "host")
      }
      assert.strictEqual((yield* works(second))._tag, "Success")
      assert.strictEqual((yield* works(first))._tag, "Failure")
      yield* second.unmount
      assert.deepStrictEqual(httpServer.rawListeners("request"), listeners)
      assert.strictEqual(httpServer.listenerCount("upgrade"), 0)
      assert.strictEqual(yield* fetchText(`${origin}/second/`), "host")
    })
  )

  live("serves each office by its own options", function* (httpServer) {
    const options = [
      { paths: ["/first"], namespace: "/one", maxMessageBytes: 10_000, allowedOrigins: ["https://one.example"] },
      { paths: ["/second"], namespace: "/two", maxMessageBytes: 20_000, allowedOrigins: ["https://two.example"] }
    ]
    const offices = yield* Effect.forEach(options, (own) => mount({ httpServer, ...own }))
    for (const [index, { url, link: accepted }] of offices.entries()) {
      const { maxMessageBytes, namespace } = options[index] ?? assert.fail("no office")
      for (const transport of ["polling", "websocket"] as const) {
        const near = yield* member({ url, namespace, transports: [transport] })
        assert.strictEqual(near.id, (yield* accepted).id)
        assert.strictEqual(near.maxBytes(), maxMessageBytes - 1024)
      }
      const statuses = yield* Effect.forEach(["https://one.example", "https://two.example"], (Origin) =>
        Effect.promise(() =>
          fetch(`${url}/?EIO=4&transport=polling&a2c_version=0.2.0`, { headers: { Origin } }).then(
            ({ status }) => status
          )
        )
      )
      assert.deepStrictEqual(statuses, index === 0 ? [200, 403] : [403, 200])
    }
  })

  it.live("leaves one listener to the host when the second of two offices closes first", () =>
    Effect.gen(function* () {
      const { first, httpServer, listeners, origin, second, works } = yield* two
      yield* second.unmount
      assert.strictEqual(yield* fetchText(`${origin}/second/`), "host")
      assert.strictEqual((yield* works(first))._tag, "Success")
      yield* first.unmount
      assert.deepStrictEqual(httpServer.rawListeners("request"), listeners)
      assert.strictEqual(yield* fetchText(`${origin}/smcp/`), "host")
    })
  )

  live("keeps the listeners that the host added between two offices, and after them", function* (httpServer) {
    const calls: Array<string> = []
    const first = yield* mount({ httpServer })
    httpServer.on("request", () => void calls.push("between"))
    const second = yield* mount({ httpServer, paths: ["/second"] })
    httpServer.on("request", () => void calls.push("after"))
    yield* first.unmount
    assert.strictEqual(yield* fetchText(`${originOf(httpServer)}/`), "host")
    assert.deepStrictEqual(calls, ["between", "after"])
    yield* second.unmount
    assert.strictEqual(yield* fetchText(`${originOf(httpServer)}/`), "host")
    assert.deepStrictEqual(calls, ["between", "after", "between", "after"])
  })

  live("answers each request of the host once while offices close in turn with open upgrades", function* (httpServer) {
    const own = new WebSocketServer({ server: httpServer, path: "/own" })
    yield* Effect.addFinalizer(() => Effect.sync(() => own.close()))
    const origin = originOf(httpServer)
    let present = yield* mount({ httpServer, paths: ["/office-0"] })
    for (let round = 1; round < 6; round++) {
      const next = yield* mount({ httpServer, paths: [`/office-${round}`] })
      const link = yield* member({ url: present.url, transports: ["websocket"] })
      yield* present.unmount
      yield* link.closed
      assert.strictEqual(yield* fetchText(`${origin}/`), "host")
      assert.strictEqual(yield* upgradeStatus(`${origin}/own`), 101)
      assert.strictEqual(httpServer.listenerCount("request"), 1)
      present = next
    }
    yield* present.unmount
    assert.strictEqual(yield* upgradeStatus(`${origin}/own`), 101)
  })
})

describe("two offices on a Socket.IO server of the host", () => {
  it.live("serves the other office when one closes", () =>
    Effect.gen(function* () {
      for (const isFirst of [true, false]) {
        const { io, origin } = yield* hostIo()
        const one = yield* mount({ io, namespace: "/one" })
        const two = yield* mount({ io, namespace: "/two" })
        const at = (namespace: string) => Effect.flatMap(member({ url: one.url, namespace }), (link) => echo(link, 1))
        const link = yield* member({ url: one.url, namespace: isFirst ? "/one" : "/two" })
        yield* isFirst ? one.unmount : two.unmount
        yield* link.closed
        assert.strictEqual((yield* at(isFirst ? "/two" : "/one"))?._tag, "Success")
        assert.strictEqual(yield* fetchText(`${origin}/`), "host")
        yield* isFirst ? two.unmount : one.unmount
        yield* connected(yield* openSocket(`${origin}/host`))
      }
    })
  )
})

describe("an office on a Socket.IO server of the host", () => {
  const live = liveWith(hostIo())

  live("serves members at the path of the host", function* ({ io, origin }) {
    const { link, url } = yield* mount({ io })
    assert.strictEqual(url, `${origin}/socket.io`)
    const client = yield* member({ url })
    assert.deepStrictEqual((yield* echo(client, { a: 1 }))?._tag, "Success")
    assert.deepStrictEqual((yield* echo(yield* link, [1, "ü"]))?._tag, "Success")
  })

  live("serves another namespace than the default", function* ({ io }) {
    const { url } = yield* mount({ io, namespace: "/team-a" })
    const client = yield* member({ url, namespace: "/team-a" })
    assert.deepStrictEqual((yield* echo(client, { a: 1 }))?._tag, "Success")
    assert.strictEqual((yield* Effect.flip(member({ url })))._tag, "AdmissionRejected")
  })

  live("leaves other namespaces of the same connection to the host", function* ({ io, origin }) {
    yield* mount({ io })
    const office = yield* openSocket(`${origin}/smcp`, { query: { a2c_version: "0.2.0" } })
    yield* connected(office)
    const host = office.io.socket("/host")
    yield* connected(host)
    assert.strictEqual(office.io.engine, host.io.engine)
    const bytes = Buffer.from([1, 2, 3])
    assert.deepStrictEqual(yield* Effect.promise(() => host.emitWithAck("echo", bytes)), bytes)
    assert.deepStrictEqual(yield* Effect.promise(() => office.emitWithAck("x", { a: 1 })), { a: 1 })
  })

  live("needs no version of clients of other namespaces", function* ({ io, origin }) {
    yield* mount({ io })
    yield* connected(yield* openSocket(`${origin}/host`))
  })

  live("rejects a member without a version by a connect error", function* ({ io, origin }) {
    yield* mount({ io })
    const error = yield* Effect.flip(connected(yield* openSocket(`${origin}/smcp`)))
    assert.strictEqual((error.data as { readonly code: number }).code, 400)
  })

  for (const transport of ["polling", "websocket"] as const) {
    live(`rejects a member of another version by HTTP over ${transport}`, function* ({ io, origin }) {
      yield* mount({ io })
      const url = `${origin}/socket.io/?EIO=4&transport=${transport}&a2c_version=9.0.0`
      assert.strictEqual(yield* transport === "polling" ? statusOf(url) : upgradeStatus(url), 400)
    })
  }

  live("closes its members and no others when it closes", function* ({ io, origin }) {
    const { unmount, url } = yield* mount({ io })
    const host = yield* openSocket(`${origin}/host`)
    yield* connected(host)
    const client = yield* member({ url })
    yield* unmount
    yield* client.closed
    assert.strictEqual(yield* Effect.promise(() => host.emitWithAck("echo", 1)), 1)
  })

  live("rejects members after it closed, until another one is mounted", function* ({ io }) {
    const { unmount, url } = yield* mount({ io })
    yield* unmount
    const rejected = yield* Effect.flip(member({ url }))
    assert.strictEqual(rejected._tag === "AdmissionRejected" && rejected.reason, "unavailable")
    yield* mount({ io })
    assert.deepStrictEqual((yield* echo(yield* member({ url }), 1))?._tag, "Success")
  })

  live("closes the member when the host disconnects its socket", function* ({ io }) {
    const { link, url } = yield* mount({ io })
    yield* member({ url })
    const far = yield* link
    io.of("/smcp").disconnectSockets()
    assert.strictEqual(yield* far.closed, "server_disconnect")
  })

  it.live("admits no recovered session without its credentials", () =>
    Effect.gen(function* () {
      const { io, origin } = yield* hostIo({ connectionStateRecovery: {} })
      const { link } = yield* mount({ io })
      const socket = yield* openSocket(`${origin}/smcp`, { query: { a2c_version: "0.2.0" }, transports: ["websocket"] })
      yield* connected(socket)
      yield* link
      io.of("/smcp").emit("offset", 1)
      yield* received(socket, "offset")
      socket.io.engine.close()
      yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => socket.disconnected })
      socket.connect()
      const [reason] = yield* received(socket, "disconnect")
      assert.strictEqual(reason, "io server disconnect")
    })
  )

  it.live("rejects a member of another version over HTTP/2", () =>
    Effect.gen(function* () {
      const [cert, key] = ["cert", "key"].map((part) => readFileSync(`test/fixtures/tls/first.${part}.pem`))
      const http = yield* Effect.acquireRelease(
        Effect.callback<Http2SecureServer>((resume) => {
          const server = createSecureServer({ allowHTTP1: true, ...(cert && { cert }), ...(key && { key }) })
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
      )
      const io = new SocketIo(http)
      yield* Effect.addFinalizer(() => Effect.sync(() => io.engine.close()))
      const { url } = yield* mount({ io })
      const client = yield* Effect.acquireRelease(
        Effect.sync(() => connect(url.replace("/socket.io", ""), { rejectUnauthorized: false })),
        (session) => Effect.sync(() => session.destroy())
      )
      const path = "/socket.io/?EIO=4&transport=polling&a2c_version=9.0.0"
      const status = yield* Effect.callback<unknown>((resume) => {
        client.request({ ":path": path }).on("response", (headers) => resume(Effect.succeed(headers[":status"])))
      })
      assert.strictEqual(status, 400)
    })
  )

  live("is not mounted at the namespace of another one", function* ({ io }) {
    const { url } = yield* mount({ io })
    const error = yield* Effect.flip(mount({ io }))
    assert.include(error.message, "has an office at the namespace /smcp")
    assert.deepStrictEqual((yield* echo(yield* member({ url }), 1))?._tag, "Success")
  })

  it.live("is not mounted before the host attaches its server", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(mount({ io: new SocketIo() }))
      assert.include(error.message, "Attach the Socket.IO server")
    })
  )

  live("shows its messages in the Admin UI", function* ({ io, origin }) {
    instrument(io, { auth: false, mode: "development" })
    const { link, url } = yield* mount({ io })
    const admin = yield* openSocket(`${origin}/admin`)
    const events = yield* Queue.unbounded<ReadonlyArray<unknown>>()
    for (const event of ["event_received", "event_sent"]) {
      admin.on(event, (namespace: string, _sid: string, args: ReadonlyArray<unknown>) => {
        Queue.offerUnsafe(events, [event, namespace, args])
      })
    }
    yield* connected(admin)
    const client = yield* member({ url })
    yield* client.notify("hello", jsonBody({ a: 1 }))
    assert.deepStrictEqual(yield* Queue.take(events), ["event_received", "/smcp", ["hello", { a: 1 }]])
    yield* (yield* link).notify("welcome", jsonBody({ b: 2 }))
    assert.deepStrictEqual(yield* Queue.take(events), ["event_sent", "/smcp", ["welcome", { b: 2 }]])
  })
})
