import { Effect, Layer, Ref, Stream } from "effect"
import { decideByRules, explainByRules } from "../../../domain/policy/decideByRules.ts"
import type { Rule } from "../../../domain/policy/Rule.ts"
import { Policy } from "../../ports/approvals/Policy.ts"

/** A policy of rules. The latest of `updates` replace the initial ones for the calls that follow. */
export const layer = (
  initial: ReadonlyArray<Rule>,
  updates: Stream.Stream<ReadonlyArray<Rule>> = Stream.empty
): Layer.Layer<Policy> =>
  Layer.effect(
    Policy,
    Effect.gen(function* () {
      const rules = yield* Ref.make(initial)
      yield* Effect.forkScoped(Stream.runForEach(updates, (next) => Ref.set(rules, next)))
      return {
        decide: (call) => Effect.map(Ref.get(rules), (current) => decideByRules(current, call)),
        explain: (call) => Effect.map(Ref.get(rules), (current) => explainByRules(current, call))
      }
    })
  )
