import { findMismatch, matchesTool } from "./matchRule.ts"
import type { Rule } from "./parseRules.ts"
import type { PolicyAction, PolicyCall, PolicyDecision } from "./Rule.ts"
import type { Grant } from "../approvals/standingApprovals.ts"

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
  type Names = Pick<PolicyCall, "computer" | "originalName" | "server" | "shortName">
  const byTool = new Map<string, Names & { readonly candidates: typeof numbered }>()
  const candidatesFor = (call: PolicyCall): typeof numbered => {
    const { computer, originalName, server, shortName, tool } = call
    const known = byTool.get(tool)
    const isSameTool =
      known?.server === server &&
      known.shortName === shortName &&
      known.originalName === originalName &&
      known.computer === computer
    if (isSameTool) return known.candidates
    if (byTool.size >= maxTools) byTool.clear()
    const candidates = numbered.filter(({ rule }) => meetsTool(rule, call))
    byTool.set(tool, { computer, originalName, server, shortName, candidates })
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

/** What the owner of a Computer allows without a policy. */
export interface StandingConsent {
  /** The configuration marks the tool as `auto_apply`. */
  readonly autoApply: boolean
  /** Patterns of tools that run without a question: `SERVER/TOOL` or `TOOL`. */
  readonly approve: ReadonlyArray<string>
  /** The standing approval of this tool in this office. */
  readonly standing: Grant | undefined
}

const strictness: { readonly [A in PolicyDecision["action"]]: number } = { allow: 0, ask: 1, deny: 2 }

/** The first decision unless a later one asks or denies more. */
export const findStrictest = (decisions: ReadonlyArray<PolicyDecision | undefined>): PolicyDecision | undefined =>
  decisions.reduce((strictest, decision) =>
    decision !== undefined && strictness[decision.action] > strictness[strictest?.action ?? "allow"]
      ? decision
      : strictest
  )

/**
 * Decides a call: the policy takes precedence over `auto_apply` and approved patterns, and a standing approval answers the
 * question of a call that would need an approval.
 */
export const decideCall = (
  policy: PolicyDecision | undefined,
  call: PolicyCall,
  { approve, autoApply, standing }: StandingConsent
): PolicyDecision => {
  const decision: PolicyDecision =
    policy ??
    (autoApply
      ? { action: "allow", by: "auto_apply" }
      : matchesTool(approve, call)
        ? { action: "allow", by: "approved pattern" }
        : { action: "ask", by: "default" })
  return decision.action === "ask" && standing !== undefined
    ? { action: "allow", by: `grant of ${standing.by}` }
    : decision
}
