import { Effect, Layer, Ref, Stream } from "effect"
import { decideByRules, explainByRules } from "../../../domain/policy/decideByRules.ts"
import type { Rule } from "../../../domain/policy/Rule.ts"
import { Policy } from "../../ports/approvals/Policy.ts"

/** A rule with all members: objects of one shape are compared faster. */
const withAllMembers = (rule: Rule): Rule => ({
  action: rule.action,
  reason: rule.reason,
  subject: rule.subject,
  office: rule.office,
  computer: rule.computer,
  server: rule.server,
  tool: rule.tool,
  annotations: rule.annotations,
  arguments: rule.arguments
})

/** A policy of rules. The latest of `updates` replace the initial ones for the calls that follow. */
export const layer = (
  initial: ReadonlyArray<Rule>,
  updates: Stream.Stream<ReadonlyArray<Rule>> = Stream.empty
): Layer.Layer<Policy> =>
  Layer.effect(
    Policy,
    Effect.gen(function* () {
      const rules = yield* Ref.make(initial.map(withAllMembers))
      yield* Effect.forkScoped(Stream.runForEach(updates, (next) => Ref.set(rules, next.map(withAllMembers))))
      return {
        decide: (call) => Effect.sync(() => decideByRules(Ref.getUnsafe(rules), call)),
        explain: (call) => Effect.sync(() => explainByRules(Ref.getUnsafe(rules), call))
      }
    })
  )
