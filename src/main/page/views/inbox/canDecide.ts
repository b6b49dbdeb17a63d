import type { OpenApproval } from "../../../../domain/page/calls/openApprovals.ts"
import { findPageOffice } from "../../../../domain/page/offices.ts"
import { pageState, session } from "../../connection/store.ts"

/** True when the operator may decide: the Computer lets operators, or its MCP server asks about a call of this operator. */
export const canDecide = ({ approval, call }: OpenApproval): boolean => {
  const isCaller = call.agent === `operator:${session.value?.subject ?? ""}`
  if (approval.isQuestion === true && isCaller && session.value?.mayCall === true) return true
  const { computers } = findPageOffice(pageState.value, call)
  return computers.some(({ features, name }) => name === call.computer && features.approvals)
}
