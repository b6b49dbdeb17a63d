import type { ServerResponse } from "node:http"
import { type Socket as EngineSocket, type Transport, transports } from "engine.io"
import * as internals from "../internals.ts"
import { closeTimeout, maxUnauthenticatedBytes } from "../limits.ts"
import { encodeForTransport, outboundMessageOf } from "./OutboundMessage.ts"
import type { RelayTransport } from "./RelayTransport.ts"

/** Memory of a part of a payload beside its bytes. */
const chunkOverhead = 64

const packetSeparator = "\u001e"

/** Packets per payload. One payload is handled in one tick; more packets than this exceed the rate limit anyway. */
const maxPacketsPerPayload = 16 * 1024

/** Bytes of a response of several messages: building a longer string takes so long that other members notice. */
const maxPollResponseBytes = 1024 * 1024

const countPackets = (payload: string): number => {
  let count = 1
  for (let at = payload.indexOf(packetSeparator); at !== -1; at = payload.indexOf(packetSeparator, at + 1)) count += 1
  return count
}

const responseBatchSize = (packets: internals.EnginePackets): number => {
  let bytes = 0
  const end = packets.findIndex((packet, index) => {
    bytes += outboundMessageOf(packet)?.size ?? 0
    return index > 0 && bytes > maxPollResponseBytes
  })
  return end === -1 ? packets.length : end
}

const sentBytesOf = ({ socket }: ServerResponse): number =>
  socket === null ? 0 : internals.writeProgressOf(socket).bytesSent

/** Makes a polling transport that sends messages as text, in responses of limited size. */
export const makePollingTransport = (request: internals.EngineRequest, maxPayloadBytes: number): RelayTransport => {
  // JSONP would hide how many packets a payload has; no current client uses it.
  delete request._query["j"]
  const transport = transports.polling(request)
  internals.setCloseTimeout(transport, closeTimeout)
  internals.writeResponsesAsBytes(transport)
  const onData = transport.onData.bind(transport)
  const onRequest = transport.onRequest.bind(transport)
  const send = transport.send.bind(transport)
  let engineSocket: EngineSocket | undefined
  /** The response of the latest poll. */
  let response: ServerResponse | undefined
  /**
   * Responses that the network has not taken, with the bytes that it had taken from their connection before. There may be
   * several: a peer may poll again on another connection before it has read a response.
   */
  const unread = new Map<ServerResponse, number>()
  let unreadBytes = 0
  let readBytes = 0
  /** Of the payload that arrives. */
  let payloadBytes = 0
  let receivedBytes = 0

  const trackUntilRead = (sent: ServerResponse, bytes: number): void => {
    unread.set(sent, sentBytesOf(sent))
    unreadBytes += bytes
    sent.once("close", () => {
      unread.delete(sent)
      unreadBytes -= bytes
      readBytes += bytes
      relay.listener?.onBytesSent()
    })
  }
  const trackPayload = (next: internals.EngineRequest): void => {
    next.on("data", (chunk: string) => {
      const bytes = Buffer.byteLength(chunk)
      receivedBytes += bytes
      // Engine.IO drops a payload that is too large.
      payloadBytes = payloadBytes > transport.maxHttpBufferSize ? 0 : payloadBytes + bytes + chunkOverhead
      relay.listener?.onBytesReceived()
    })
    next.once("close", () => {
      payloadBytes = 0
      relay.listener?.onBytesReceived()
    })
  }

  transport.send = (packets) => {
    const size = engineSocket === undefined ? packets.length : responseBatchSize(packets)
    // The next transport takes the rest: another response or a WebSocket.
    if (engineSocket !== undefined && size < packets.length) internals.requeue(engineSocket, packets.slice(size))
    const sending = packets.slice(0, size)
    const bytes = sending.reduce((sum, packet) => sum + (outboundMessageOf(packet)?.size ?? 0), 0)
    if (response !== undefined && bytes > 0) trackUntilRead(response, bytes)
    send(sending.map((packet) => encodeForTransport(packet, (message) => ({ data: message.text() }))))
  }
  transport.onData = (payload) => {
    if (countPackets(payload) > maxPacketsPerPayload) internals.failTransport(transport, "too_many_packets")
    else onData(payload)
  }
  transport.onRequest = (next) => {
    if (next.method === "GET" && next.res !== undefined) response = next.res
    onRequest(next)
    // After Engine.IO, which sets the encoding.
    if (next.method === "POST") trackPayload(next)
  }
  transport.once("close", () => {
    // Responses that the peer does not read outlive the session and hold its messages.
    const destroyUnread = () => {
      for (const waiting of unread.keys()) waiting.destroy()
    }
    if (internals.isDiscarded(transport) && engineSocket?.upgraded === false) destroyUnread()
    else setTimeout(destroyUnread, closeTimeout).unref()
  })
  const extension: Omit<RelayTransport, keyof Transport> = {
    listener: undefined,
    onConnection: (opened) => {
      engineSocket = opened
      transport.maxHttpBufferSize = maxUnauthenticatedBytes
    },
    trySend: () => false,
    bufferedBytes: () => unreadBytes,
    incompleteBytes: () => payloadBytes,
    receivedBytes: () => receivedBytes,
    sentBytes: () =>
      [...unread].reduce((sum, [sent, before]) => sum + Math.max(0, sentBytesOf(sent) - before), readBytes),
    pauseFor: () => undefined,
    liftSizeLimit: () => {
      transport.maxHttpBufferSize = maxPayloadBytes
    },
    netSockets: () => [internals.dataSocketOf(transport), response?.socket].filter((socket) => socket != null)
  }
  const relay: RelayTransport = Object.assign(transport, extension)
  return relay
}
