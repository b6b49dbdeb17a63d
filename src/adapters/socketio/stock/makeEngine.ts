import type { Duplex } from "node:stream"
import { Server as Engine } from "engine.io"
import { type WebSocket, WebSocketServer } from "ws"
import { ConnectionBudget } from "../connection/ConnectionBudget.ts"
import { type EngineSettings, maxPayloadBytes } from "../connection/engineOptions.ts"
import { closeTimeout, defaultMaxMessageBytes, defaultPingInterval, defaultPingTimeout } from "../limits.ts"

type WebSocketOptions = ConstructorParameters<typeof WebSocketServer>[0]

/** The WebSockets of the engines of this package, by the socket of their request. */
const webSockets = new WeakMap<Duplex, WebSocket>()

/** The WebSocket on a socket; `undefined` for polling and for engines of a host. */
export const webSocketOn = (socket: Duplex | undefined): WebSocket | undefined =>
  socket === undefined ? undefined : webSockets.get(socket)

/** Closes a WebSocket with too many control frames, which `ws` answers without an event of Engine.IO. */
const limitControlFrames = (webSocket: WebSocket): void => {
  const budget = new ConnectionBudget()
  const onControlFrame = () => {
    if (!budget.spend()) webSocket.terminate()
  }
  webSocket.on("ping", onControlFrame).on("pong", onControlFrame)
}

/** Makes an Engine.IO server of this package. */
export const makeEngine = ({
  allowedOrigins = [],
  maxMessageBytes = defaultMaxMessageBytes,
  pingInterval = defaultPingInterval,
  pingTimeout = defaultPingTimeout
}: EngineSettings): Engine => {
  // One message of a connection in a tick of the event loop: a flood must not delay other members.
  const webSocketOptions = { allowSynchronousEvents: false, closeTimeout, maxPayload: maxPayloadBytes(maxMessageBytes) }
  return new Engine({
    maxHttpBufferSize: maxMessageBytes,
    httpCompression: false,
    pingInterval,
    pingTimeout,
    wsEngine: class extends WebSocketServer {
      constructor(options: WebSocketOptions) {
        super({ ...options, ...webSocketOptions })
      }
      override handleUpgrade(...[request, socket, head, onOpen]: Parameters<WebSocketServer["handleUpgrade"]>): void {
        super.handleUpgrade(request, socket, head, (webSocket) => {
          webSockets.set(socket, webSocket)
          limitControlFrames(webSocket)
          onOpen(webSocket, request)
        })
      }
    },
    ...(allowedOrigins.length > 0 && { cors: { origin: allowedOrigins.includes("*") || [...allowedOrigins] } })
  })
}
