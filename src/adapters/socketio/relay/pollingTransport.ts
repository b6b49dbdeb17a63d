import type { ServerResponse } from "node:http"
import { type Socket as EngineSocket, type Transport, transports } from "engine.io"
import * as internals from "../internals.ts"
import { closeTimeout, maxUnauthenticatedBytes } from "../limits.ts"
import { encodeForTransport, outboundMessageOf, releaseMessages } from "../connection/OutboundMessage.ts"
import { makePollingBuffers } from "../connection/pollingBuffers.ts"
import { limitPacketsPerPayload } from "../connection/payloadLimit.ts"
import type { RelayTransport } from "./RelayTransport.ts"

/** Bytes of a response of several messages: building a longer string takes so long that other members notice. */
const maxPollResponseBytes = 1024 * 1024

const responseBatchSize = (packets: internals.EnginePackets): number => {
  let bytes = 0
  const end = packets.findIndex((packet, index) => {
    bytes += outboundMessageOf(packet)?.size ?? 0
    return index > 0 && bytes > maxPollResponseBytes
  })
  return end === -1 ? packets.length : end
}

/** Makes a polling transport that sends messages as text, in responses of limited size. */
export const makePollingTransport = (request: internals.EngineRequest, maxPayloadBytes: number): RelayTransport => {
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
    bufferedBytes: buffers.bufferedBytes,
    incompleteBytes: buffers.incompleteBytes,
    receivedBytes: buffers.receivedBytes,
    sentBytes: buffers.sentBytes,
    pauseFor: () => undefined,
    liftSizeLimit: () => {
      transport.maxHttpBufferSize = maxPayloadBytes
    },
    netSockets: () => [internals.dataSocketOf(transport), response?.socket].filter((socket) => socket != null)
  }
  const relay: RelayTransport = Object.assign(transport, extension)
  return relay
}
