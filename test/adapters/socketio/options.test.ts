import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Queue, Result } from "effect"
import * as SocketIoClient from "../../../src/adapters/socketio/client/SocketIoClient.ts"
import * as RelayServer from "../../../src/adapters/socketio/RelayServer.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import { type Handshake, type Link, TransportClient } from "../../../src/application/ports/Transport.ts"
import { MembershipObservers, type ObservedEvent } from "../../../src/application/server/observability/observers.ts"
import { engines } from "./engines.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { connectLink, echoMessage, ignoreMessage, serveLinks, serveQueue } from "./links.ts"

const minute = Duration.minutes(1)
const origin = "https://app.example"
const query = "EIO=4&transport=polling"

/** The transports of a client, and the names of the way. */
const ways = [
  ["polling", ["polling"]],
  ["WebSocket", ["websocket"]],
  ["polling and then WebSocket", ["polling", "websocket"]]
] as const

for (const [engine, makeServer] of engines) {
  /** A Server that echoes and records the handshakes of its members, and the rejections. */
  const site = Effect.fnUntraced(function* (options: RelayServer.RelayServerOptions = {}) {
    const links = yield* Queue.unbounded<Link>()
    const handshakes: Array<Handshake> = []
    const observed: Array<ObservedEvent> = []
    const { url } = yield* serveLinks(makeServer(options), (link, handshake) => {
      handshakes.push(handshake)
      return Effect.as(Queue.offer(links, link), echoMessage)
    }).pipe(Effect.provideService(MembershipObservers, [(event) => void observed.push(event)]))
    const member = (client: Partial<SocketIoClient.SocketIoClientOptions>, version = "0.2.0") =>
      connectLink({ url, ...client }, { version, onMessage: echoMessage })
    const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
      Effect.promise(() => fetch(`${url}${path}`, { headers, method }))
    return { get, handshakes, link: Queue.take(links), member, observed }
  })

  const echo = (link: Link, value: unknown) =>
    Effect.map(link.request("x", jsonBody(value), minute), (reply) =>
      reply.map(({ head }) => Result.getOrElse(head, ({ code }) => code))
    )

  describe(`a Server with ${engine}`, () => {
    it.live.each(ways)("admits a member by its whole handshake, over %s", ([, transports]) =>
      Effect.gen(function* () {
        const { handshakes, member } = yield* site()
        yield* member(
          {
            transports,
            token: "secret",
            // The role and the token of the member count.
            auth: { key: "mine", role: "computer", token: "other" },
            headers: { "x-key": "mine" }
          },
          "0.4.0"
        )
        assert.deepStrictEqual(
          handshakes.map(({ auth, headers, remoteAddress, version }) => [
            auth,
            headers["x-key"],
            remoteAddress.replace("::ffff:", ""),
            version
          ]),
          [[{ key: "mine", role: "agent", token: "secret" }, "mine", "127.0.0.1", { major: 0, minor: 4, patch: 0 }]]
        )
      })
    )

    it.live.each(ways)("serves another namespace and path in both directions, over %s", ([, transports]) =>
      Effect.gen(function* () {
        const { get, link, member } = yield* site({ namespace: "/other", paths: ["/office"] })
        const { url } = yield* get("/office/")
        const near = yield* member({ transports, namespace: "/other", url: url.replace(/\/$/, "") })
        assert.deepStrictEqual(yield* echo(near, { to: "server" }), [{ to: "server" }])
        assert.deepStrictEqual(yield* echo(yield* link, { to: "member" }), [{ to: "member" }])
      })
    )

    it.live("is at both default paths", () =>
      Effect.gen(function* () {
        const { get } = yield* site()
        const statuses = yield* Effect.forEach(["/smcp", "/smcp/", "/socket.io/", "/other/"], (path) =>
          Effect.map(get(`${path}?${query}&a2c_version=0.2.0`), ({ status }) => status)
        )
        assert.deepStrictEqual(statuses, [200, 200, 200, 404])
      })
    )

    it.live("states its keepalive and its largest message", () =>
      Effect.gen(function* () {
        const { get } = yield* site({ pingInterval: 12_345, pingTimeout: 23_456, maxMessageBytes: 34_567 })
        const response = yield* get(`/smcp/?${query}&a2c_version=0.2.0`)
        const text = yield* Effect.promise(() => response.text())
        const { maxPayload, pingInterval, pingTimeout } = JSON.parse(text.slice(1)) as Record<string, number>
        assert.deepStrictEqual([pingInterval, pingTimeout, maxPayload], [12_345, 23_456, 34_567])
      })
    )

    it.live.each(ways)("limits what its member sends to what it states, over %s", ([, transports]) =>
      Effect.gen(function* () {
        const { member } = yield* site({ maxMessageBytes: 34_567 })
        assert.strictEqual((yield* member({ transports })).maxBytes(), 34_567 - 1024)
      })
    )

    it.live("lets a page of an allowed origin read its responses, and reports the others", () =>
      Effect.gen(function* () {
        const { get, observed } = yield* site({ allowedOrigins: [origin] })
        const allowedBy = (path: string, from: string, method?: string) =>
          Effect.map(get(path, { Origin: from }, method), ({ headers, status }) => [
            status,
            headers.get("Access-Control-Allow-Origin")
          ])
        const path = `/smcp/?${query}&a2c_version=`
        assert.deepStrictEqual(yield* allowedBy(`${path}0.2.0`, origin), [200, origin])
        assert.deepStrictEqual(yield* allowedBy(path, origin, "OPTIONS"), [204, origin])
        assert.deepStrictEqual(yield* allowedBy(`${path}9.0.0`, origin), [400, origin])
        assert.deepStrictEqual(yield* allowedBy(`${path}0.2.0`, "https://other.example"), [403, null])
        assert.deepStrictEqual(
          observed.map((event) =>
            event._tag === "ConnectionRejected" ? [event.code, event.remoteAddress] : event._tag
          ),
          [
            [4008, "127.0.0.1"],
            [403, "127.0.0.1"]
          ]
        )
      })
    )
  })
}

it.live("serves on a Unix socket with the largest messages that any Server may take", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const path = join(folder, "socket")
    yield* serveQueue(RelayServer.layerOnSocket(path))
    const member = yield* TransportClient.use(({ connect }) =>
      connect({ version: "0.2.0", auth: {}, onMessage: ignoreMessage })
    ).pipe(Effect.provide(SocketIoClient.layerOnSocket(path), { local: true }))
    assert.strictEqual(member.maxBytes(), 48 * 1024 * 1024 - 1024)
    const [reply] = yield* member.request("x", jsonBody(1), minute)
    assert.deepStrictEqual(reply?.head, Result.succeed(1))
  })
)
