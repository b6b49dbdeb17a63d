import { useRef } from "preact/hooks"
import { openApprovals } from "../../connection/store.ts"
import { ApprovalCard } from "../inbox/ApprovalCard.tsx"
import { canDecide } from "../inbox/canDecide.ts"
import { useSteady } from "../inbox/useSteady.ts"

/** What a call of this view waits for, with the answers: the inbox is another view, and to leave this one cancels the call. */
export const CallApproval = ({ id }: { readonly id: string }) => {
  const box = useRef<HTMLDivElement>(null)
  const isSteady = useSteady(box)
  const entry = openApprovals.value.find(({ approval }) => approval.id === id)
  return (
    <div ref={box}>
      {entry !== undefined && canDecide(entry) && (
        <ApprovalCard entry={{ ...entry, isOpen: true }} canDecide isSteady={isSteady} />
      )}
    </div>
  )
}
