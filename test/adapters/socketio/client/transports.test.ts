import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, type Scope } from "effect"
import * as SocketIoClient from "../../../../src/adapters/socketio/client/SocketIoClient.ts"
import * as RelayServer from "../../../../src/adapters/socketio/RelayServer.ts"
import { TransportClient } from "../../../../src/application/ports/Transport.ts"
import { ignoreMessage, serveQueue } from "../links.ts"
import { type TestBody, liveWith } from "../../../testWith.ts"

/** A network between client and Server. */
interface Network {
  readonly url: string
  /** What happens to WebSockets. */
  webSockets: "pass" | "break" | "swallow"
  /** The transports of the requests that open a connection, in their order. */
  readonly opened: Array<string>
  /** Connections that have changed from polling to WebSocket. */
  upgraded: number
}

/** True for bytes with the frame that ends an upgrade: the character 5, masked. */
const endsUpgrade = (bytes: Buffer): boolean => {
  const at = bytes.indexOf(Buffer.from([0x81, 0x81]))
  return at >= 0 && ((bytes[at + 2] ?? 0) ^ (bytes[at + 6] ?? 0)) === "5".charCodeAt(0)
}

const openingRequest = /^GET \S*transport=(\w+)(?!\S*sid=)/

const makeNetwork = (port: number): Effect.Effect<Network, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly network: Network; readonly close: () => void }>((resume) => {
      const sockets = new Set<Socket>()
      const opened: Array<string> = []
      const proxy = createServer((client) => {
        const server = connectTcp(port, "127.0.0.1")
        for (const socket of [client, server]) {
          sockets.add(socket)
          socket.on("error", () => socket.destroy())
        }
        client.on("close", () => server.destroy())
        server.on("close", () => client.destroy())
        server.pipe(client)
        client.on("data", (chunk) => {
          const text = chunk.toString("latin1")
          const transport = openingRequest.exec(text)?.[1]
          if (transport !== undefined) opened.push(transport)
          if (endsUpgrade(chunk)) network.upgraded += 1
          const isUpgrade = /\r\nupgrade: websocket\r\n/i.test(text)
          if (isUpgrade && network.webSockets === "break") client.destroy()
          else if (!isUpgrade || network.webSockets === "pass") server.write(chunk)
        })
      })
      const network: Network = { url: "", webSockets: "pass", opened, upgraded: 0 }
      proxy.listen(0, "127.0.0.1", () => {
        Object.assign(network, { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` })
        const close = () => {
          proxy.close()
          for (const socket of sockets) socket.destroy()
        }
        resume(Effect.succeed({ network, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ network }) => network))

const startServer = Effect.map(serveQueue(RelayServer.layer()), ({ url }) => Number(new URL(url).port))

const request = { version: "0.2.0", auth: { role: "agent" }, onMessage: ignoreMessage }

/** Connects and leaves. */
const visit = (client: TransportClient["Service"]) => Effect.scoped(Effect.asVoid(client.connect(request)))

/** Connects, waits for the upgrade, and leaves. */
const visitWithUpgrade = (client: TransportClient["Service"], network: Network) =>
  Effect.scoped(
    Effect.andThen(
      client.connect(request),
      Effect.repeat(Effect.sleep("2 millis"), { until: () => network.upgraded > 0 })
    )
  )

describe("a client of several transports", () => {
  const makeClient = Effect.fnUntraced(function* (options: Partial<SocketIoClient.SocketIoClientOptions> = {}) {
    const network = yield* makeNetwork(yield* startServer)
    const client = yield* Effect.provide(TransportClient, SocketIoClient.layer({ url: network.url, ...options }))
    return { client, network }
  })
  type Made = Effect.Success<ReturnType<typeof makeClient>>
  const live = (title: string, options: Partial<SocketIoClient.SocketIoClientOptions>, body: TestBody<Made>) =>
    liveWith(makeClient(options))(title, body)

  live("begins with polling, and with WebSocket once it has worked", {}, function* ({ client, network }) {
    yield* visitWithUpgrade(client, network)
    yield* visit(client)
    assert.deepStrictEqual(network.opened, ["polling", "websocket"])
  })

  live("falls back to polling within an attempt, and begins with it afterwards", {}, function* ({ client, network }) {
    yield* visitWithUpgrade(client, network)
    network.webSockets = "break"
    yield* visit(client)
    yield* visit(client)
    assert.deepStrictEqual(network.opened, ["polling", "websocket", "polling", "polling"])
  })

  it.live(
    "falls back to polling within an attempt when its WebSocket gets no answer, and begins with it afterwards",
    () =>
      Effect.gen(function* () {
        const { client, network } = yield* makeClient({ connectTimeout: Duration.seconds(8) })
        yield* visitWithUpgrade(client, network)
        network.webSockets = "swallow"
        yield* visit(client)
        yield* visit(client)
        assert.deepStrictEqual(network.opened, ["polling", "websocket", "polling", "polling"])
      })
  )

  live("changes to no WebSocket after two that stalled", {}, function* ({ client, network }) {
    const stall = Effect.fnUntraced(function* (upgrades: number) {
      const link = yield* client.connect(request)
      yield* Effect.repeat(Effect.sleep("2 millis"), { until: () => network.upgraded === upgrades })
      yield* link.close("join_timeout")
    }, Effect.scoped)
    yield* visitWithUpgrade(client, network)
    yield* stall(1)
    yield* stall(2)
    yield* visit(client)
    yield* visit(client)
    assert.deepStrictEqual(network.opened, ["polling", "websocket", "polling", "polling", "polling"])
    assert.strictEqual(network.upgraded, 2)
  })

  live("follows the options", { transports: ["polling"] }, function* ({ client, network }) {
    yield* visit(client)
    yield* visit(client)
    assert.deepStrictEqual(network.opened, ["polling", "polling"])
  })
})
