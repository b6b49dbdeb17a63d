import { maxEnvelopeBytes } from "../limits.ts"

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
