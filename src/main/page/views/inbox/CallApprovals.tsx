import type { ListedApproval } from "../../../../domain/page/calls/openApprovals.ts"
import { openApprovals } from "../../connection/store.ts"
import { ApprovalCards, canDecide } from "./ApprovalCard.tsx"

interface CallApprovalsProps {
  /** True for the approvals that the calls of a view wait for. */
  readonly isShown: (entry: ListedApproval) => boolean
}

/** What the calls of a view wait for, with the answers. */
export const CallApprovals = ({ isShown }: CallApprovalsProps) => (
  <ApprovalCards entries={openApprovals.value.filter((entry) => isShown(entry) && canDecide(entry))} />
)
