import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Server, type Socket as EngineSocket, type Transport, transports } from "engine.io"
import { makeEngineOptions, maxPayloadBytes } from "../connection/engineOptions.ts"
import { writeProgressOf } from "../../http/writeProgress.ts"
import * as internals from "../internals.ts"
import { closeTimeout, defaultMaxMessageBytes, maxPollResponseBytes, maxUnauthenticatedBytes } from "../limits.ts"
import { ByteWebSocket } from "./ByteWebSocket.ts"
import { type RelayTransport, relayTransportOf } from "./RelayTransport.ts"
import { encodeForTransport, outboundMessageOf, releaseMessages } from "../connection/OutboundMessage.ts"
import { limitPacketsPerPayload, makePollingBuffers } from "../connection/pollingBuffers.ts"

const responseBatchSize = (packets: internals.EnginePackets): number => {
  let bytes = 0
  const end = packets.findIndex((packet, index) => {
    bytes += outboundMessageOf(packet)?.size ?? 0
    return index > 0 && bytes > maxPollResponseBytes
  })
  return end === -1 ? packets.length : end
}

/** Makes a polling transport that sends messages as text, in responses of limited size. */
const makePollingTransport = (request: internals.EngineRequest, maxPayloadBytes: number): RelayTransport => {
  // JSONP would hide how many packets a payload has; no current client uses it.
  delete request._query["j"]
  const transport = transports.polling(request)
  internals.setCloseTimeout(transport, closeTimeout)
  internals.writeResponsesAsBytes(transport)
  const onRequest = transport.onRequest.bind(transport)
  const send = transport.send.bind(transport)
  let engineSocket: EngineSocket | undefined
  /** The response of the latest poll. */
  let response: ServerResponse | undefined
  const buffers = makePollingBuffers(
    () => relay.listener,
    () => transport.maxHttpBufferSize
  )

  transport.send = (packets) => {
    const size = engineSocket === undefined ? packets.length : responseBatchSize(packets)
    // The next transport takes the rest: another response or a WebSocket.
    if (engineSocket !== undefined && size < packets.length) internals.requeue(engineSocket, packets.slice(size))
    const sending = packets.slice(0, size)
    const bytes = sending.reduce((sum, packet) => sum + (outboundMessageOf(packet)?.size ?? 0), 0)
    if (response !== undefined && bytes > 0) buffers.trackResponse(response, bytes)
    send(sending.map((packet) => encodeForTransport(packet, (message) => ({ data: message.text() }))))
    releaseMessages(sending)
  }
  limitPacketsPerPayload(transport)
  transport.onRequest = (next) => {
    if (next.method === "GET" && next.res !== undefined) response = next.res
    onRequest(next)
    // After Engine.IO, which sets the encoding.
    if (next.method === "POST") buffers.trackPayload(next)
  }
  transport.once("close", () => {
    if (internals.isDiscarded(transport) && engineSocket?.upgraded === false) buffers.destroyUnread()
    else setTimeout(buffers.destroyUnread, closeTimeout).unref()
  })
  const extension: Omit<RelayTransport, keyof Transport> = {
    listener: undefined,
    onConnection: (opened) => {
      engineSocket = opened
      transport.maxHttpBufferSize = maxUnauthenticatedBytes
    },
    trySend: () => false,
    traffic: buffers,
    liftSizeLimit: () => {
      transport.maxHttpBufferSize = maxPayloadBytes
    },
    netSockets: () => [internals.dataSocketOf(transport), response?.socket].filter((socket) => socket != null)
  }
  const relay: RelayTransport = Object.assign(transport, extension)
  return relay
}

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
