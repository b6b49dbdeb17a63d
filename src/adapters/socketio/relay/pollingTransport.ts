import type { ServerResponse } from "node:http"
import { type Socket as EngineSocket, type Transport, transports } from "engine.io"
import * as internals from "../internals.ts"
import { closeTimeout, maxUnauthenticatedBytes } from "../limits.ts"
import { encodeForTransport, outboundMessageOf } from "./OutboundMessage.ts"
import type { RelayTransport } from "./RelayTransport.ts"

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

/** Makes a polling transport that sends messages as text, in responses of limited size. */
export const makePollingTransport = (request: internals.EngineRequest, maxPayloadBytes: number): RelayTransport => {
  // JSONP would hide how many packets a payload has; no current client uses it.
  delete request._query["j"]
  const transport = transports.polling(request)
  internals.setCloseTimeout(transport, closeTimeout)
  const onData = transport.onData.bind(transport)
  const onRequest = transport.onRequest.bind(transport)
  const send = transport.send.bind(transport)
  let engineSocket: EngineSocket | undefined
  /** The response of the latest poll. */
  let response: ServerResponse | undefined

  transport.send = (packets) => {
    const size = engineSocket === undefined ? packets.length : responseBatchSize(packets)
    // The next transport takes the rest: another response or a WebSocket.
    if (engineSocket !== undefined && size < packets.length) internals.requeue(engineSocket, packets.slice(size))
    send(packets.slice(0, size).map((packet) => encodeForTransport(packet, (message) => ({ data: message.text() }))))
  }
  transport.onData = (payload) => {
    if (countPackets(payload) > maxPacketsPerPayload) internals.failTransport(transport, "too_many_packets")
    else onData(payload)
  }
  transport.onRequest = (next) => {
    if (next.method === "GET" && next.res !== undefined) response = next.res
    onRequest(next)
  }
  transport.once("close", () => {
    // A response that the peer does not read outlives the session and holds its messages.
    const unread = response
    if (unread === undefined || unread.writableFinished) return
    setTimeout(() => {
      if (!unread.writableFinished) unread.destroy()
    }, closeTimeout).unref()
  })
  const extension: Omit<RelayTransport, keyof Transport> = {
    onShortMessage: undefined,
    onConnection: (opened) => {
      engineSocket = opened
      transport.maxHttpBufferSize = maxUnauthenticatedBytes
    },
    trySend: () => false,
    bufferedBytes: () => response?.writableLength ?? 0,
    pauseFor: () => undefined,
    liftSizeLimit: () => {
      transport.maxHttpBufferSize = maxPayloadBytes
    },
    netSockets: () => [internals.dataSocketOf(transport), response?.socket].filter((socket) => socket != null)
  }
  return Object.assign(transport, extension)
}
