import { Effect, Layer, Queue } from "effect"
import { io, type ManagerOptions, type SocketOptions } from "socket.io-client"
import * as SocketIoClient from "../../../src/adapters/socketio/client/SocketIoClient.ts"
import {
  type Link,
  type MessageHandler,
  TransportClient,
  TransportServer
} from "../../../src/application/ports/Transport.ts"
import { ServerMetrics } from "../../../src/application/server/observability/ServerMetrics.ts"

type ServerLayer<E> = Layer.Layer<TransportServer, E, ServerMetrics>

export const echoMessage: MessageHandler = (_event, body) => Effect.succeed([body])
export const ignoreMessage: MessageHandler = () => Effect.succeed([])

/** Serves members without metrics. */
export const serveLinks = <E>(layer: ServerLayer<E>, ...accept: Parameters<TransportServer["Service"]["serve"]>) =>
  TransportServer.use(({ serve }) => serve(...accept)).pipe(
    Effect.provide(Layer.provide(layer, ServerMetrics.layerNone), { local: true })
  )

/** Serves members without metrics, and gives the Server's ends of their links. */
export const serveQueue = Effect.fnUntraced(function* <E>(layer: ServerLayer<E>, onMessage = echoMessage) {
  const links = yield* Queue.unbounded<Link>()
  const { url } = yield* serveLinks(layer, (link) => Effect.as(Queue.offer(links, link), onMessage))
  return { url, link: Queue.take(links) }
})

type Request = Parameters<TransportClient["Service"]["connect"]>[0]

/** Connects an Agent that replies nothing. */
export const connectLink = (options: SocketIoClient.SocketIoClientOptions, request: Partial<Request> = {}) =>
  TransportClient.use(({ connect }) =>
    connect({ version: "0.2.0", auth: { role: "agent" }, onMessage: ignoreMessage, ...request })
  ).pipe(Effect.provide(SocketIoClient.layer(options), { local: true }))

/** A socket of the stock client, disconnected with the scope. */
export const openSocket = (url: string, options: Partial<ManagerOptions & SocketOptions> = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => io(url, { reconnection: false, forceNew: true, ...options })),
    (socket) => Effect.sync(() => socket.disconnect())
  )

/** A socket of the stock client for the namespace and the path of offices. */
export const openMemberSocket = (url: string, transport: "polling" | "websocket") =>
  openSocket(`${url}/smcp`, { path: "/smcp", query: { a2c_version: "0.2.0" }, transports: [transport] })
