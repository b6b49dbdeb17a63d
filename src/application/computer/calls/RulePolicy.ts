import { Effect, Layer, Ref, Stream } from "effect"
import { explainByRules, makeRuleDecider } from "../../../domain/policy/decideByRules.ts"
import type { Rule } from "../../../domain/policy/parseRules.ts"
import { Policy } from "../../ports/approvals/Policy.ts"

const prepare = (rules: ReadonlyArray<Rule>) => ({ rules, decide: makeRuleDecider(rules) })

/** A policy of rules. The latest of `updates` replace the initial ones for the calls that have not begun to run. */
export const layer = (
  initial: ReadonlyArray<Rule>,
  updates: Stream.Stream<ReadonlyArray<Rule>> = Stream.empty
): Layer.Layer<Policy> =>
  Layer.effect(
    Policy,
    Effect.gen(function* () {
      const current = yield* Ref.make(prepare(initial))
      yield* Effect.forkScoped(Stream.runForEach(updates, (next) => Ref.set(current, prepare(next))))
      return {
        decide: (call) => Effect.sync(() => Ref.getUnsafe(current).decide(call)),
        decideNow: (call) => Ref.getUnsafe(current).decide(call),
        revision: () => Ref.getUnsafe(current),
        explain: (call) => Effect.sync(() => explainByRules(Ref.getUnsafe(current).rules, call))
      }
    })
  )
