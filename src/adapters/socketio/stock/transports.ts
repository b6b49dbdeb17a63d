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

/** Watches the WebSocket of a transport; `undefined` for polling. */
export const watchWebSocket = (transport: Transport, listener: StockListener) => {
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
    /** Bytes that the network has not taken. */
    bufferedBytes: (): number => webSocket.bufferedAmount,
    /** Bytes that the network has taken. */
    sentBytes: (): number => (netSocket === undefined ? 0 : writeProgressOf(netSocket).bytesSent),
    /** Approximate memory of the message that has arrived in part. */
    incompleteBytes: (): number => incompleteBytesOf(webSocket),
    receivedBytes: (): number => netSocket?.bytesRead ?? 0,
    /** Reads nothing for some milliseconds. */
    pauseFor: (millis: number): void => {
      if (isPaused) return
      isPaused = true
      webSocket.pause()
      setTimeout(() => {
        isPaused = false
        webSocket.resume()
      }, millis).unref()
    },
    /** Frees what the peer has not read. */
    discard: (): void => webSocket.terminate()
  }
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

/** Makes the record of the requests of one connection that polls. */
export const trackPolling = (listener: StockListener, maxPayloadBytes: () => number) => {
  const buffers = makePollingBuffers(() => listener, maxPayloadBytes)
  let response: ServerResponse | undefined
  return {
    ...buffers,
    /** Follows a request before Engine.IO handles it. */
    track: (request: IncomingMessage, next: ServerResponse): void => {
      if (request.method === "POST") onceRead(request, () => buffers.trackPayload(request))
      else if (request.method === "GET") response = next
    },
    /** Counts messages in the response of the latest poll. */
    onFlush: (bytes: number): void => {
      if (response !== undefined) buffers.trackResponse(response, bytes)
    },
    /** Frees in time what is not read: it outlives the connection. */
    close: (): void => {
      if (buffers.hasUnread()) setTimeout(buffers.destroyUnread, closeTimeout).unref()
    }
  }
}
