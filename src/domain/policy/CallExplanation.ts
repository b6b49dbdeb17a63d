import { Schema } from "effect"
import { definedOnly } from "../objects.ts"
import type { RuleStep } from "./decideByRules.ts"
import type { PolicyCall, PolicyDecision } from "./Rule.ts"

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

/** Rules of an explanation in a message; the last ones, of which the last one may decide. */
const maxSteps = 200

const maxTextLength = 2000
const Text = Schema.String.check(Schema.isMaxLength(maxTextLength))
const Action = Schema.Literals(["allow", "ask", "deny"])

/** How a call would be decided, as operators see it. */
export const ExplanationView = Schema.Struct({
  steps: Schema.Array(Schema.Struct({ rule: Text, action: Action, mismatch: Schema.optionalKey(Text) })).check(
    Schema.isMaxLength(maxSteps)
  ),
  decision: Schema.Struct({ action: Action, by: Text, reason: Schema.optionalKey(Text) }),
  canAsk: Schema.Boolean
}).pipe(Schema.encodeKeys({ canAsk: "can_ask" }))
export type ExplanationView = typeof ExplanationView.Type

const bounded = (text: string): string =>
  text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1).toWellFormed()}…`

export const toExplanationView = ({ canAsk, decision, steps }: CallExplanation): ExplanationView => ({
  steps: steps.slice(-maxSteps).map(({ action, mismatch, rule }) => ({
    rule: bounded(rule),
    action,
    ...definedOnly({ mismatch: mismatch && bounded(mismatch) })
  })),
  decision: {
    action: decision.action,
    by: bounded(decision.by),
    ...definedOnly({ reason: decision.reason && bounded(decision.reason) })
  },
  canAsk
})
