import type { Grant } from "../approvals/standingApprovals.ts"
import { matchesTool } from "./matchRule.ts"
import type { PolicyCall, PolicyDecision } from "./Rule.ts"

/** What the owner of a Computer allows without a policy. */
export interface StandingConsent {
  /** The configuration marks the tool as `auto_apply`. */
  readonly autoApply: boolean
  /** Patterns of tools that run without a question: `SERVER/TOOL` or `TOOL`. */
  readonly approve: ReadonlyArray<string>
  /** The standing approval of this tool in this office. */
  readonly standing: Grant | undefined
}

const strictness: { readonly [A in PolicyDecision["action"]]: number } = { allow: 0, ask: 1, deny: 2 }

/** The first decision unless a later one asks or denies more. */
export const findStrictest = (decisions: ReadonlyArray<PolicyDecision | undefined>): PolicyDecision | undefined =>
  decisions.reduce((strictest, decision) =>
    decision !== undefined && strictness[decision.action] > strictness[strictest?.action ?? "allow"]
      ? decision
      : strictest
  )

/**
 * Decides a call: the policy takes precedence over `auto_apply` and approved patterns, and a standing approval answers the
 * question of a call that would need an approval.
 */
export const decideCall = (
  policy: PolicyDecision | undefined,
  call: PolicyCall,
  { approve, autoApply, standing }: StandingConsent
): PolicyDecision => {
  const decision =
    policy ??
    (autoApply
      ? ({ action: "allow", by: "auto_apply" } as const)
      : matchesTool(approve, call)
        ? ({ action: "allow", by: "approved pattern" } as const)
        : ({ action: "ask", by: "default" } as const))
  return decision.action === "ask" && standing !== undefined
    ? { action: "allow", by: `grant of ${standing.by}` }
    : decision
}
