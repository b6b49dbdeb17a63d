import { useRef } from "preact/hooks"
import type { OpenApproval } from "../../../../domain/page/calls/openApprovals.ts"
import { openApprovals } from "../../connection/store.ts"
import { ApprovalCard, canDecide, useSteady } from "./ApprovalCard.tsx"

interface CallApprovalsProps {
  /** True for the approvals that the calls of a view wait for. */
  readonly isShown: (entry: OpenApproval) => boolean
}

/** What the calls of a view wait for, with the answers. */
export const CallApprovals = ({ isShown }: CallApprovalsProps) => {
  const box = useRef<HTMLDivElement>(null)
  const isSteady = useSteady(box)
  return (
    <div ref={box}>
      {openApprovals.value
        .filter((entry) => isShown(entry) && canDecide(entry))
        .map((entry) => (
          <ApprovalCard key={entry.key} entry={{ ...entry, isOpen: true }} canDecide isSteady={isSteady} />
        ))}
    </div>
  )
}
