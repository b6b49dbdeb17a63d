import type { CallExplanation } from "../../../domain/policy/CallExplanation.ts"
import { formatOutcome } from "../../../domain/policy/Rule.ts"
import { formatColumns } from "./format.ts"

/** Formats how a call is decided: the rules up to the one that decides, then the decision. Every text is escaped. */
export const formatExplanation = ({ call, canAsk, decision, steps }: CallExplanation): string => {
  const { action, by, reason } = decision
  return formatColumns([
    ["tool", `${call.tool} of the MCP server ${call.server}`],
    ["caller", call.office === undefined ? call.subject : `${call.subject} in the office ${call.office}`],
    ...steps.map((step) => [
      step.rule,
      `${step.action}: ${step.mismatch === undefined ? "applies" : `does not apply, by its ${step.mismatch}`}`
    ]),
    ["decision", `${action}, by ${by}: ${formatOutcome(action, canAsk)}`],
    ...(reason === undefined ? [] : [["reason", reason]])
  ])
}
