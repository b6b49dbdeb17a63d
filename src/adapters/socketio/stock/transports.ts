import type { IncomingMessage, ServerResponse } from "node:http"
import type { Transport } from "engine.io"
import { writeProgressOf } from "../../http/writeProgress.ts"
import { incompleteBytesOf, netSocketBelow, webSocketOf } from "../internals.ts"
import { closeTimeout, maxUnauthenticatedBytes } from "../limits.ts"
import { makePollingBuffers } from "../connection/pollingBuffers.ts"
import { ConnectionBudget } from "../connection/ConnectionBudget.ts"

/** What a transport reports to its connection. */
export interface StockListener {
  readonly onBytesReceived: () => void
  readonly onBacklogChange: () => void
  readonly onViolation: (violation: "ping_flood" | "unauthenticated_bytes_exceeded") => void
  readonly isAdmitted: () => boolean
}

/** The buffers of a transport. */
export interface TransportBuffers {
  /** Bytes that the network has not taken. */
  readonly bufferedBytes: () => number
  /** Bytes that the network has taken. */
  readonly sentBytes: () => number
  /** Approximate memory of the message that has arrived in part. */
  readonly incompleteBytes: () => number
  /** Bytes that have arrived. */
  readonly receivedBytes: () => number
  /** Reads nothing for some milliseconds, where the transport can do that. */
  readonly pauseFor: (millis: number) => void
  /** Frees what the peer has not read. */
  readonly discard: () => void
}

/** Watches the WebSocket of a transport; `undefined` for polling. */
export const watchWebSocket = (transport: Transport, listener: StockListener): TransportBuffers | undefined => {
  const webSocket = webSocketOf(transport)
  if (webSocket === undefined) return undefined
  const netSocket = netSocketBelow(webSocket)
  const controlFrames = new ConnectionBudget()
  let isPaused = false
  let arrivedBytes = 0
  // `ws` holds the bytes of an incomplete message.
  netSocket?.on("data", (chunk: Buffer) => {
    if (!listener.isAdmitted()) {
      arrivedBytes += chunk.length
      if (arrivedBytes > maxUnauthenticatedBytes) return listener.onViolation("unauthenticated_bytes_exceeded")
    }
    return listener.onBytesReceived()
  })
  // `ws` answers control frames without an event of Engine.IO.
  const onControlFrame = () => {
    if (!controlFrames.spend()) listener.onViolation("ping_flood")
  }
  webSocket.on("ping", onControlFrame)
  webSocket.on("pong", onControlFrame)
  transport.on("drain", listener.onBacklogChange)
  return {
    bufferedBytes: () => webSocket.bufferedAmount,
    sentBytes: () => (netSocket === undefined ? 0 : writeProgressOf(netSocket).bytesSent),
    incompleteBytes: () => incompleteBytesOf(webSocket),
    receivedBytes: () => netSocket?.bytesRead ?? 0,
    pauseFor: (millis) => {
      if (isPaused) return
      isPaused = true
      webSocket.pause()
      setTimeout(() => {
        isPaused = false
        webSocket.resume()
      }, millis).unref()
    },
    discard: () => webSocket.terminate()
  }
}

/** The requests of a connection that polls. */
export interface PollingRequests extends TransportBuffers {
  /** Follows a request before Engine.IO handles it. */
  readonly track: (request: IncomingMessage, response: ServerResponse) => void
  /** Counts messages in the response of the latest poll. */
  readonly onFlush: (bytes: number) => void
  /** Frees in time what is not read: it outlives the connection. */
  readonly close: () => void
}

/** Runs an effect once another listener reads the data of a request: reading them before would lose some. */
const onceRead = (request: IncomingMessage, run: () => void): void => {
  const onListener = (event: string) => {
    if (event !== "data") return
    request.off("newListener", onListener)
    run()
  }
  request.on("newListener", onListener)
}

/** Makes the record of the requests of one connection. */
export const trackPolling = (listener: StockListener, maxPayloadBytes: () => number): PollingRequests => {
  const buffers = makePollingBuffers(() => listener, maxPayloadBytes)
  let response: ServerResponse | undefined
  return {
    track: (request, next) => {
      if (request.method === "POST") onceRead(request, () => buffers.trackPayload(request))
      else if (request.method === "GET") response = next
    },
    onFlush: (bytes) => {
      if (response !== undefined) buffers.trackResponse(response, bytes)
    },
    bufferedBytes: buffers.bufferedBytes,
    sentBytes: buffers.sentBytes,
    incompleteBytes: buffers.incompleteBytes,
    receivedBytes: buffers.receivedBytes,
    pauseFor: () => undefined,
    discard: buffers.destroyUnread,
    close: () => {
      if (buffers.hasUnread()) setTimeout(buffers.destroyUnread, closeTimeout).unref()
    }
  }
}
