import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { Server, type Socket as EngineSocket, type Transport } from "engine.io"
import { makeEngineOptions, maxPayloadBytes } from "../connection/engineOptions.ts"
import { writeProgressOf } from "../../http/writeProgress.ts"
import * as internals from "../internals.ts"
import { defaultMaxMessageBytes } from "../limits.ts"
import { ByteWebSocket } from "./ByteWebSocket.ts"
import { makePollingTransport } from "./pollingTransport.ts"
import { relayTransportOf } from "./RelayTransport.ts"

/** Bytes per second that a connection must receive to count as alive. Slower senders would hold memory for ever. */
const minBytesPerSecond = 1024

const measureProgress = (socket: Socket) => ({
  socket,
  bytesRead: socket.bytesRead,
  ...writeProgressOf(socket)
})

/** True when the peer sent bytes or took queued ones. Unqueued ones prove nothing: a network buffer may hold them. */
const hasProgressed = (before: ReturnType<typeof measureProgress>, millis: number): boolean => {
  const now = measureProgress(before.socket)
  return (
    now.bytesRead - before.bytesRead >= (minBytesPerSecond * millis) / 1000 ||
    (before.bytesQueued > 0 && now.bytesSent > before.bytesSent)
  )
}

/** Keeps a connection open while bytes move: a member cannot answer a ping before the end of a long message. */
const extendKeepaliveOnProgress = (engineSocket: EngineSocket): void => {
  const netSockets = () => relayTransportOf(engineSocket).netSockets()
  internals.replacePongTimer(engineSocket, (millis) => {
    const baseline = netSockets().map(measureProgress)
    return setTimeout(() => {
      const isMoving = baseline.some((progress) => hasProgressed(progress, millis))
      // Polling opens new connections; a new one proves that the member is alive.
      const hasNewSocket = () => netSockets().some((now) => !baseline.some(({ socket }) => socket === now))
      // The member also expects pings, and Engine.IO sends none before the last one is answered.
      if (isMoving || hasNewSocket()) internals.sendPing(engineSocket)
      else internals.closeStaleSocket(engineSocket)
    }, millis)
  })
  // Engine.IO forgets a pending ping with the old transport, and sends the next one only after its pong.
  engineSocket.on("upgrade", () => internals.sendPing(engineSocket))
}

/** Relays messages as bytes. */
export class RelayEngine extends Server {
  readonly #maxPayloadBytes: number
  constructor(settings: Parameters<typeof makeEngineOptions>[0]) {
    super(makeEngineOptions(settings))
    this.#maxPayloadBytes = maxPayloadBytes(settings.maxMessageBytes ?? defaultMaxMessageBytes)
    this.on("connection", (engineSocket: EngineSocket) => {
      internals.keepRequestHead(engineSocket)
      extendKeepaliveOnProgress(engineSocket)
      relayTransportOf(engineSocket).onConnection?.(engineSocket)
    })
  }

  protected override createTransport(name: string, incoming: IncomingMessage): Transport {
    const request = internals.asEngineRequest(incoming)
    return name === "websocket" ? new ByteWebSocket(request) : makePollingTransport(request, this.#maxPayloadBytes)
  }
}
