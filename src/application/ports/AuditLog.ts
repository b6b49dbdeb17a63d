import { Context } from "effect"
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

/** An append-only record of joins, leaves, calls and rejections. Writing never delays the Server. */
export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** Queues an event, or drops it when the queue is full. Must not throw. */
    readonly record: (event: AuditEvent) => void
    /** Events dropped since the start. */
    readonly lostCount: () => number
  }
>()("a2c-smcp/application/ports/AuditLog") {}
