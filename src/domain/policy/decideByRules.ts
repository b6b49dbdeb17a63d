import { findMismatch } from "./matchRule.ts"
import type { PolicyAction, PolicyCall, PolicyDecision, Rule } from "./Rule.ts"

const decisionOf = ({ action, reason }: Rule, index: number): PolicyDecision => ({
  action,
  by: `rule ${index + 1}`,
  reason
})

/** Decides a call by the first rule that applies; `undefined` when none does. */
export const decideByRules = (rules: ReadonlyArray<Rule>, call: PolicyCall): PolicyDecision | undefined => {
  const index = rules.findIndex((rule) => findMismatch(rule, call) === undefined)
  const rule = rules[index]
  return rule === undefined ? undefined : decisionOf(rule, index)
}

/** How one rule was judged. */
export interface RuleStep {
  readonly rule: string
  readonly action: PolicyAction
  /** The first condition that the call does not meet; `undefined` for the rule that decides. */
  readonly mismatch: string | undefined
}

/** A decision, and the rules that were compared with the call: all up to the one that decides. */
export interface RuleExplanation {
  readonly decision: PolicyDecision | undefined
  readonly steps: ReadonlyArray<RuleStep>
}

/** Decides as {@link decideByRules} does, and tells how. */
export const explainByRules = (rules: ReadonlyArray<Rule>, call: PolicyCall): RuleExplanation => {
  const steps: Array<RuleStep> = []
  for (const [index, rule] of rules.entries()) {
    const mismatch = findMismatch(rule, call)
    const decision = decisionOf(rule, index)
    steps.push({ rule: decision.by, action: rule.action, mismatch })
    if (mismatch === undefined) return { decision, steps }
  }
  return { decision: undefined, steps }
}
