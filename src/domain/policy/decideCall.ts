import type { Grant } from "../approvals/standingApprovals.ts"
import { matchesTool } from "./matchRule.ts"
import type { PolicyCall, PolicyDecision } from "./Rule.ts"

/** What the owner of a Computer allows without a policy. */
export interface StandingConsent {
  /** The configuration marks the tool as `auto_apply`. */
  readonly autoApply: boolean
  /** Patterns of tools that run without a question: `SERVER/TOOL` or `TOOL`. */
  readonly approve: ReadonlyArray<string>
  /** The lasting allowance of an approver for this tool in this office. */
  readonly grant: Grant | undefined
}

/** What decides by a grant: `grant of operator:ann`. */
const byGrant = ({ by }: Grant): PolicyDecision => ({ action: "allow", by: `grant of ${by}` })

/**
 * Decides a call: the policy takes precedence over `auto_apply` and approved patterns, and a grant answers the question of
 * a call that would need an approval.
 */
export const decideCall = (
  policy: PolicyDecision | undefined,
  call: PolicyCall,
  { approve, autoApply, grant }: StandingConsent
): PolicyDecision => {
  const decision =
    policy ??
    (autoApply
      ? ({ action: "allow", by: "auto_apply" } as const)
      : matchesTool(approve, call)
        ? ({ action: "allow", by: "approved pattern" } as const)
        : ({ action: "ask", by: "default" } as const))
  return decision.action === "ask" && grant !== undefined ? byGrant(grant) : decision
}
