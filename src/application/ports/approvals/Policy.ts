import { Context, type Effect, Layer } from "effect"
import type { RuleExplanation } from "../../../domain/policy/decideByRules.ts"
import type { PolicyCall, PolicyDecision } from "../../../domain/policy/Rule.ts"

interface PolicyEngine {
  /** Decides a call; `undefined` leaves it to `auto_apply` and consent. A failure denies the call. */
  readonly decide: (call: PolicyCall) => Effect.Effect<PolicyDecision | undefined, unknown>
  /** Decides a call as {@link decide} does, without an effect, which would cost more than most rules. */
  readonly decideNow?: (call: PolicyCall) => PolicyDecision | undefined
  /**
   * Identifies what it decides by, such as its rules. A call that has waited is decided again when it has changed, and
   * denied if the policy denies it now. Without it, a policy is asked once for a call.
   */
  readonly revision?: () => unknown
  /** Decides a call as {@link decide} does, and tells how. An engine without rules has only the decision. */
  readonly explain?: (call: PolicyCall) => Effect.Effect<RuleExplanation, unknown>
}

/** Decides which calls of Agents and operators a Computer runs; `undefined` where `auto_apply` and consent decide alone. */
export class Policy extends Context.Service<Policy, PolicyEngine | undefined>()(
  "a2c-smcp/application/ports/approvals/Policy"
) {
  /** Decides nothing: `auto_apply` and consent do. */
  static readonly layerNone: Layer.Layer<Policy> = Layer.succeed(Policy, undefined)
}
