import { Context, Layer } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { Body } from "./Body.ts"

/** One line of the audit. */
export interface AuditEvent {
  /** Milliseconds of the epoch. */
  readonly time: number
  /** The fields of the line. Never arguments, results or tokens. */
  readonly fields: JsonObject
  /** A request of which the line holds only a digest of the arguments. */
  readonly request?: Body
}

/** Records events. */
export interface AuditRecorder {
  /** Queues an event, or drops it when the queue is full. Must not throw. */
  readonly record: (event: AuditEvent) => void
  /** Events dropped since the start. */
  readonly lostCount: () => number
}

/**
 * An append-only record of joins, leaves, calls, decisions and rejections; `undefined` where nothing is recorded. Writing
 * never delays what it records.
 */
export class AuditLog extends Context.Service<AuditLog, AuditRecorder | undefined>()(
  "a2c-smcp/application/ports/AuditLog"
) {
  /** Records nothing. */
  static readonly layerNone: Layer.Layer<AuditLog> = Layer.succeed(AuditLog, undefined)
}
