import type { ServerOptions } from "engine.io"
import { WebSocketServer } from "ws"
import { withCloseTimeout } from "../internals.ts"
import {
  closeTimeout,
  defaultMaxMessageBytes,
  defaultPingInterval,
  defaultPingTimeout,
  maxEnvelopeBytes
} from "../limits.ts"

/** Keepalive interval and timeout in milliseconds. A member closes a connection without data for both together. */
export interface KeepaliveOptions {
  readonly pingInterval?: number
  readonly pingTimeout?: number
}

/** Bytes that a transport reads: up to twice the size limit, so that senders get an error instead of a closed connection. */
export const maxPayloadBytes = (maxMessageBytes: number): number => 2 * maxMessageBytes + maxEnvelopeBytes

/** Options of an engine of this package. */
export interface EngineSettings extends KeepaliveOptions {
  readonly maxMessageBytes?: number
  /** Origins of pages that may connect. */
  readonly allowedOrigins?: ReadonlyArray<string>
}

/** The options of an Engine.IO server that this package makes. `webSocket` has further options of `ws`. */
export const makeEngineOptions = (
  {
    allowedOrigins = [],
    maxMessageBytes = defaultMaxMessageBytes,
    pingInterval = defaultPingInterval,
    pingTimeout = defaultPingTimeout
  }: EngineSettings,
  webSocket: { readonly allowSynchronousEvents?: boolean } = {}
): ServerOptions => {
  const maxPayload = maxPayloadBytes(maxMessageBytes)
  return {
    maxHttpBufferSize: maxMessageBytes,
    httpCompression: false,
    pingInterval,
    pingTimeout,
    wsEngine: class extends WebSocketServer {
      constructor(options: ConstructorParameters<typeof WebSocketServer>[0]) {
        super(withCloseTimeout({ ...options, ...webSocket, maxPayload }, closeTimeout))
      }
    },
    ...(allowedOrigins.length > 0 && { cors: { origin: allowedOrigins.includes("*") || [...allowedOrigins] } })
  }
}
