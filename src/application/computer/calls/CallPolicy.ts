import { Effect, Exit } from "effect"
import { type Caller, callerName } from "../../../domain/approvals/Caller.ts"
import type { CallPlace } from "../../../domain/approvals/standingApprovals.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { CallExplanation } from "../../../domain/policy/CallExplanation.ts"
import { decideCall, findStrictest, type RuleExplanation } from "../../../domain/policy/decideByRules.ts"
import type { PolicyCall, PolicyDecision } from "../../../domain/policy/Rule.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { listCallsWithin } from "../../../domain/tools/naming.ts"
import { parseAnnotations } from "../../../domain/tools/toolAnnotations.ts"
import { Policy } from "../../ports/approvals/Policy.ts"
import { answerOr } from "../../shared/questions/askUntilValid.ts"
import type { Approvals } from "../approvals/Approvals.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"

/** The caller and arguments of a call. */
export interface CallFacts {
  readonly caller: Caller
  /** Missing outside an office. */
  readonly place: CallPlace | undefined
  readonly params: JsonObject
}

/** True for an effect that has its result: on the path of every call it needs neither a fiber nor a timeout. */
export const isSuccess = <A>(effect: Effect.Effect<A, unknown>): effect is Exit.Success<A> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)

const failedPolicy: PolicyDecision = {
  action: "deny",
  by: "failed policy",
  reason: "the policy of this Computer failed"
}

const denyOnFailure = <A>({ tool }: PolicyCall, answer: Effect.Effect<A, unknown>, denied: A): Effect.Effect<A> =>
  answerOr(answer, denied, (cause) => Effect.logError("policy failed, call denied", { tool }, cause))

type PolicyEngine = NonNullable<Policy["Service"]>

const decideOne = (policy: PolicyEngine, call: PolicyCall): Effect.Effect<PolicyDecision | undefined> => {
  if (policy.decideNow === undefined) return denyOnFailure(call, policy.decide(call), failedPolicy)
  try {
    return Exit.succeed(policy.decideNow(call))
  } catch (error) {
    return denyOnFailure(call, Effect.die(error), failedPolicy)
  }
}

const explainOne = (policy: PolicyEngine, call: PolicyCall): Effect.Effect<RuleExplanation> =>
  policy.explain === undefined
    ? Effect.map(decideOne(policy, call), (decision) => ({ decision, steps: [] }))
    : denyOnFailure(call, policy.explain(call), { decision: failedPolicy, steps: [] })

const toPolicyCall = (
  computer: ComputerName,
  { originalName, server, shortName, tool }: CatalogueEntry,
  { caller, params, place }: CallFacts
): PolicyCall => ({
  subject: callerName(caller),
  office: place?.office,
  computer,
  server,
  tool: tool.name,
  shortName,
  originalName,
  // Parsed when a policy reads them.
  get annotations() {
    return parseAnnotations(tool.meta)
  },
  params
})

/** Decides calls by the policy of the context, if any, the standing consent of the Computer's owner, and standing approvals. */
export const makeCallPolicy = Effect.fnUntraced(function* ({
  approvals: { canAsk, standingFor },
  computer,
  servers
}: {
  readonly approvals: Pick<Approvals, "canAsk" | "standingFor">
  readonly computer: ComputerName
  readonly servers: Pick<ServerSupervisor, "find">
}) {
  const { approve } = yield* ComputerSettings
  const policy = yield* Policy

  /** The calls that a published office makes for a call. Their annotations are those of a tool that states none. */
  const withinOf = (call: PolicyCall): ReadonlyArray<PolicyCall> =>
    listCallsWithin(call, servers.find(call.server)?.config).map((within) => ({
      ...call,
      annotations: undefined,
      ...within
    }))

  /** The decision about a call, or a stricter one about a call that a published office makes for it. */
  const answerOf = (call: PolicyCall): Effect.Effect<PolicyDecision | undefined> => {
    if (policy === undefined) return Exit.succeed(undefined)
    const within = withinOf(call)
    if (within.length === 0) return decideOne(policy, call)
    return Effect.forEach([call, ...within], (one) => decideOne(policy, one)).pipe(Effect.map(findStrictest))
  }

  const explanationOf = (call: PolicyCall): Effect.Effect<RuleExplanation> => {
    if (policy === undefined) return Effect.succeed({ decision: undefined, steps: [] })
    const explaining = Effect.forEach([call, ...withinOf(call)], (one) => explainOne(policy, one))
    return Effect.map(explaining, (explanations) => {
      const decision = findStrictest(explanations.map((one) => one.decision))
      return explanations.find((one) => one.decision === decision) ?? { decision, steps: [] }
    })
  }

  /** Read after the policy has answered: a standing approval may be revoked while it thinks. */
  const standingConsent = (entry: CatalogueEntry, facts: CallFacts) => ({
    approve,
    autoApply: entry.autoApply,
    standing: standingFor(entry, facts)
  })

  /** Decides a call, as an exit where the policy answers at once. A policy that fails denies the call. */
  const decide = (entry: CatalogueEntry, facts: CallFacts): Effect.Effect<PolicyDecision> => {
    const call = toPolicyCall(computer, entry, facts)
    const toDecision = (answer: PolicyDecision | undefined) => decideCall(answer, call, standingConsent(entry, facts))
    const answer = answerOf(call)
    return isSuccess(answer) ? Exit.succeed(toDecision(answer.value)) : Effect.map(answer, toDecision)
  }

  return {
    decide,
    /** Makes the effect that decides a call again, unless the policy has stayed as it is now. */
    makeReview: (entry: CatalogueEntry, facts: CallFacts): Effect.Effect<PolicyDecision | undefined> => {
      const revision = policy?.revision?.()
      return Effect.suspend(() => (policy?.revision?.() === revision ? Effect.undefined : decide(entry, facts)))
    },
    /** Decides a call as {@link decide} does, and tells how. */
    explain: (entry: CatalogueEntry, facts: CallFacts): Effect.Effect<CallExplanation> => {
      const call = toPolicyCall(computer, entry, facts)
      return Effect.map(explanationOf(call), ({ decision, steps }) => ({
        call,
        steps,
        decision: decideCall(decision, call, standingConsent(entry, facts)),
        canAsk
      }))
    }
  }
})
