import type { ApprovalView } from "../../../../domain/approvals/ApprovalView.ts"
import { describeFailure, describeStatus, phaseOf } from "../../../../domain/page/calls/callPhase.ts"
import type { PageCall } from "../../../../domain/page/PageEvent.ts"
import { formatDateTime } from "../../parts/time.ts"

/** States the decision that the Computer has confirmed. */
export const describeDecision = ({ decidedBy, denialReason, input, scope, state, until }: ApprovalView): string => {
  const by = decidedBy === undefined ? "" : ` by ${decidedBy}`
  if (input !== undefined && state === "allowed") return `answered${by}`
  if (input !== undefined && state === "denied") return `declined${by}`
  if (state === "denied") return `denied${by}${denialReason === undefined ? "" : `: ${denialReason}`}`
  if (state !== "allowed") return state
  if (scope !== "tool") return `allowed once${by}`
  const end = until === undefined ? "until it is revoked" : `until ${formatDateTime(until)}`
  return `this tool is allowed in this office${by}, ${end}`
}

/** States how the wait of a call ended, as far as the page has seen it. */
export const describeEnd = (call: PageCall): string => {
  if (call.status?._tag === "Decided") return describeStatus(call.status)
  if (call.decision !== undefined) return describeStatus(call.decision)
  if (call.endedAt === undefined) return "the call does not wait for this approval any more"
  if (phaseOf(call) === "cancelled") return "the call was cancelled before a decision"
  const failure = describeFailure(call.outcome)
  return `the call ended without a decision${failure === "" ? "" : `: ${failure}`}`
}
