import type { IncomingMessage, ServerResponse } from "node:http"
import type { Transport } from "engine.io"
import { netSocketBelow, webSocketOf } from "../internals.ts"
import { closeTimeout } from "../limits.ts"
import { makePollingBuffers } from "../connection/pollingBuffers.ts"
import { type TrafficListener, type WebSocketListener, WebSocketTraffic } from "../connection/Traffic.ts"

/** What a transport reports to its connection. */
export type StockListener = TrafficListener & WebSocketListener

/** Watches the WebSocket of a transport; `undefined` for polling. */
export const watchWebSocket = (transport: Transport, listener: StockListener) => {
  const webSocket = webSocketOf(transport)
  if (webSocket === undefined) return undefined
  transport.on("drain", listener.onBacklogChange)
  return new WebSocketTraffic(webSocket, netSocketBelow(webSocket), listener)
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
