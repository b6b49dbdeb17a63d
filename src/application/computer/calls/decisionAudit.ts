import { Clock, Effect } from "effect"
import type { ApprovalDecision } from "../../../domain/approvals/Approval.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { type Caller, callerName } from "../../../domain/approvals/Caller.ts"
import type { InputRequest } from "../../../domain/model/InputRequest.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { AuditLog } from "../../ports/AuditLog.ts"
import { jsonBody } from "../../ports/Body.ts"
import { truncateText } from "../../shared/logLimits.ts"
import type { ComputerName, RequestId } from "../../../domain/model/ids.ts"

/** Who or what decided about a call, and how. */
export interface AuditedDecision {
  /** `allow`, `deny`, or why there was no decision: `expired`, `cancelled`. */
  readonly action: "allow" | "deny" | "expired" | "cancelled"
  /** A rule, `auto_apply`, `approved pattern`, a grant, or the approver. */
  readonly by?: string | undefined
  readonly reason?: string | undefined
  readonly scope?: "once" | "tool" | undefined
  /** Milliseconds of the epoch. */
  readonly until?: number | undefined
  /** The decision answers a question, instead of consent. Its answer is not recorded. */
  readonly question?: InputRequest["mode"]
}

const actions = { allowed: "allow", denied: "deny", expired: "expired", cancelled: "cancelled" } as const

/** The decision of an approver, for the audit. */
export const auditedDecision = ({ at: _, state, ...decision }: ApprovalDecision): AuditedDecision => ({
  action: actions[state],
  ...decision
})

/** Makes the function that records every decision about a call, with a digest of its arguments, where there is an audit. */
export const makeDecisionAudit = Effect.fnUntraced(function* (computer: ComputerName) {
  const clock = yield* Clock.Clock
  const audit = yield* AuditLog
  return (
    { caller, params, reqId }: { readonly caller: Caller; readonly reqId: RequestId; readonly params: JsonObject },
    { originalName, server, tool }: CatalogueEntry,
    office: string | undefined,
    { reason, until, ...decision }: AuditedDecision
  ): void => {
    if (audit === undefined) return
    const fields = {
      type: "decision",
      computer,
      req_id: truncateText(reqId),
      server,
      tool: tool.name,
      original_name: originalName,
      caller_kind: caller._tag.toLowerCase(),
      ...definedOnly({
        office,
        agent: caller._tag === "Owner" ? undefined : truncateText(callerName(caller)),
        ...decision,
        reason: reason && truncateText(reason),
        until: until === undefined ? undefined : new Date(until).toISOString()
      })
    }
    audit.record({ time: clock.currentTimeMillisUnsafe(), fields, request: jsonBody({ params }) })
  }
})

export type DecisionAudit = Effect.Success<ReturnType<typeof makeDecisionAudit>>
