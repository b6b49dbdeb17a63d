import { findMismatch } from "./matchRule.ts"
import type { PolicyAction, PolicyCall, PolicyDecision, Rule } from "./Rule.ts"

const decisionOf = ({ action, reason }: Rule, index: number): PolicyDecision => ({
  action,
  by: `rule ${index + 1}`,
  reason
})

/** The conditions of a rule that calls of one tool may or may not meet, with all members: V8 compares equal shapes faster. */
const withoutTool = ({ action, annotations, arguments: tests, office, subject }: Rule): Rule => ({
  action,
  reason: undefined,
  subject,
  office,
  computer: undefined,
  server: undefined,
  tool: undefined,
  annotations,
  arguments: tests
})

const meetsTool = ({ action, computer, server, tool }: Rule, call: PolicyCall): boolean =>
  findMismatch({ action, computer, server, tool }, call) === undefined

/** Tools whose rules are remembered. */
const maxTools = 1000

/**
 * Makes a function that decides as {@link decideByRules} does. It remembers which rules can apply to a tool: on the path of
 * every call, the others cost more than they tell.
 */
export const makeRuleDecider = (rules: ReadonlyArray<Rule>): ((call: PolicyCall) => PolicyDecision | undefined) => {
  const numbered = rules.map((rule, index) => ({ rule, rest: withoutTool(rule), decision: decisionOf(rule, index) }))
  const byTool = new Map<
    string,
    {
      readonly call: Pick<PolicyCall, "computer" | "server" | "shortName" | "originalName">
      readonly candidates: typeof numbered
    }
  >()
  const candidatesFor = (call: PolicyCall): typeof numbered => {
    const known = byTool.get(call.tool)
    const isSameTool =
      known?.call.server === call.server &&
      known.call.shortName === call.shortName &&
      known.call.originalName === call.originalName &&
      known.call.computer === call.computer
    if (isSameTool) return known.candidates
    if (byTool.size >= maxTools) byTool.clear()
    const candidates = numbered.filter(({ rule }) => meetsTool(rule, call))
    const { computer, originalName, server, shortName } = call
    byTool.set(call.tool, { call: { computer, originalName, server, shortName }, candidates })
    return candidates
  }
  return (call) => candidatesFor(call).find(({ rest }) => findMismatch(rest, call) === undefined)?.decision
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

/** Decides a call by the first rule that applies; `undefined` when none does. */
export const decideByRules = (rules: ReadonlyArray<Rule>, call: PolicyCall): PolicyDecision | undefined =>
  explainByRules(rules, call).decision
