import { Cause, Effect, Option } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import { decideCall } from "../../../domain/policy/decideCall.ts"
import type { RuleStep } from "../../../domain/policy/decideByRules.ts"
import type { PolicyCall, PolicyDecision } from "../../../domain/policy/Rule.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { parseAnnotations } from "../../../domain/tools/toolAnnotations.ts"
import { Policy } from "../../ports/approvals/Policy.ts"
import { ComputerSettings } from "../ComputerSettings.ts"

/** The decision about a call, and how it came about. */
export interface CallExplanation {
  /** The call as the policy sees it. */
  readonly call: PolicyCall
  /** The rules of the policy up to the one that decides. */
  readonly steps: ReadonlyArray<RuleStep>
  readonly decision: PolicyDecision
  /** False when a call that needs consent fails with 4005, because the Computer cannot ask. */
  readonly canAsk: boolean
}

/** The caller and arguments of a call. */
export interface CallFacts {
  readonly subject: string
  readonly office: string | undefined
  readonly params: JsonObject
}

const failedPolicy: PolicyDecision = {
  action: "deny",
  by: "failed policy",
  reason: "the policy of this Computer failed"
}

/** Decides calls by the policy of the context, if any, and the standing consent of the Computer's owner. */
export const makeCallPolicy = Effect.fnUntraced(function* (computer: string) {
  const { approve, confirm } = yield* ComputerSettings
  const policy = Option.getOrUndefined(yield* Effect.serviceOption(Policy))

  const callOf = ({ server, shortName, tool }: CatalogueEntry, { office, params, subject }: CallFacts): PolicyCall => ({
    subject,
    office,
    computer,
    server,
    tool: tool.name,
    shortName,
    annotations: policy === undefined ? undefined : parseAnnotations(tool.meta),
    params
  })

  const decide = (call: PolicyCall, { autoApply }: CatalogueEntry): Effect.Effect<PolicyDecision> => {
    const standing = { approve, autoApply }
    if (policy === undefined) return Effect.succeed(decideCall(undefined, call, standing))
    return policy.decide(call).pipe(
      Effect.map((decision) => decideCall(decision, call, standing)),
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.as(Effect.logError("policy failed, call denied", { tool: call.tool }, cause), failedPolicy)
      )
    )
  }

  return {
    /** Decides a call. A policy that fails denies it. */
    decide: (entry: CatalogueEntry, facts: CallFacts) => Effect.suspend(() => decide(callOf(entry, facts), entry)),
    /** Decides a call as {@link decide} does, and shows how. */
    explain: Effect.fnUntraced(function* (entry: CatalogueEntry, facts: CallFacts) {
      const call = callOf(entry, facts)
      const steps = yield* Effect.orElseSucceed(policy?.explain?.(call) ?? Effect.succeed([]), () => [])
      const explanation: CallExplanation = {
        call,
        steps,
        decision: yield* decide(call, entry),
        canAsk: confirm !== undefined
      }
      return explanation
    })
  }
})
