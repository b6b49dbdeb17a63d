import { Context } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { Body } from "./Body.ts"

/** One fact for the audit: what stands on its line, and what only a digest of may stand there. */
export interface AuditEvent {
  /** Milliseconds of the epoch. */
  readonly time: number
  /** The members of the line. Never arguments, results or tokens. */
  readonly fields: JsonObject
  /** A request whose arguments the line identifies without telling them. */
  readonly request?: Body
}

/** A record of who did what that can only grow. Writing it never holds anybody up. */
export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** Takes a fact, or counts it as lost when too many wait to be written. It does not throw. */
    readonly record: (event: AuditEvent) => void
    /** How many facts were lost since the start. */
    readonly lostCount: () => number
  }
>()("a2c-smcp/application/ports/Audit") {}
