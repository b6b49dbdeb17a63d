import { Context, type Effect } from "effect"
import type { RuleStep } from "../../../domain/policy/decideByRules.ts"
import type { PolicyCall, PolicyDecision } from "../../../domain/policy/Rule.ts"

/** Decides which calls of Agents and operators a Computer runs. Without this port, `auto_apply` and consent decide. */
export class Policy extends Context.Service<
  Policy,
  {
    /** Decides a call; `undefined` leaves it to `auto_apply` and consent. A failure denies the call. */
    readonly decide: (call: PolicyCall) => Effect.Effect<PolicyDecision | undefined, unknown>
    /** The rules that {@link decide} compares with a call, for people. An engine without rules has none. */
    readonly explain?: (call: PolicyCall) => Effect.Effect<ReadonlyArray<RuleStep>, unknown>
  }
>()("a2c-smcp/application/ports/approvals/Policy") {}
