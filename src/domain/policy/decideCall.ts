import { matchesTool } from "./matchRule.ts"
import type { PolicyCall, PolicyDecision } from "./Rule.ts"

/** What the owner of a Computer allows without a policy. */
export interface StandingConsent {
  /** The configuration marks the tool as `auto_apply`. */
  readonly autoApply: boolean
  /** Patterns of tools that run without a question: `SERVER/TOOL` or `TOOL`. */
  readonly approve: ReadonlyArray<string>
}

/** Decides a call: the policy takes precedence over `auto_apply` and approved patterns; other calls need consent. */
export const decideCall = (
  policy: PolicyDecision | undefined,
  call: PolicyCall,
  { approve, autoApply }: StandingConsent
): PolicyDecision => {
  if (policy !== undefined) return policy
  if (autoApply) return { action: "allow", by: "auto_apply" }
  return matchesTool(approve, call) ? { action: "allow", by: "approved pattern" } : { action: "ask", by: "default" }
}
