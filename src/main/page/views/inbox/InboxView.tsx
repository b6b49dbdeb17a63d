import { useMemo, useRef } from "preact/hooks"
import {
  approvalsOfOffice,
  type DecidedCall,
  findDecidedCalls,
  type ListedApproval,
  updateListed
} from "../../../../domain/page/calls/openApprovals.ts"
import { formatCount, formatNumberOf } from "../../../../domain/text/format.ts"
import { isSoundOn, switchSound } from "../../connection/approvalSound.ts"
import { officeHash, type OfficeRoute } from "../../../../domain/page/route.ts"
import { openApprovals, pageState } from "../../connection/store.ts"
import { Empty } from "../../parts/missing.tsx"
import { ApprovalCard, canDecide, useSteady } from "./ApprovalCard.tsx"
import { type Column, Table } from "../../parts/Table.tsx"
import { Name, formatDateTime } from "../../parts/Text.tsx"

const decisionColumns: ReadonlyArray<Column<DecidedCall>> = [
  {
    title: "Tool",
    cell: ({ call }) => (
      <a href={officeHash(call, "calls", { call: call.id })}>
        <Name of={call.tool ?? call.event} />
      </a>
    )
  },
  { title: "Agent", cell: ({ call }) => <Name of={call.agent} /> },
  { title: "Computer", cell: ({ call }) => <Name of={call.computer} /> },
  {
    title: "Decision",
    cell: ({ decision }) => (decision.isAllowed ? "allowed" : "denied"),
    kind: ({ decision }) => (decision.isAllowed ? "good" : "bad")
  },
  { title: "By", cell: ({ decision }) => <Name of={decision.by} /> },
  { title: "Time", cell: ({ at }) => formatDateTime(at) }
]

/** Approvals that are shown at once: each one fetches its arguments. */
const maxCards = 20

/** The calls of an office that wait for an approval, and the latest decisions. */
export const InboxView = ({ address }: OfficeRoute) => {
  const state = pageState.value
  const open = approvalsOfOffice(openApprovals.value, address)
  const listed = useRef<ReadonlyArray<ListedApproval>>([])
  listed.current = updateListed(listed.current, open, state.calls)
  const cards = listed.current.slice(0, maxCards)
  const decided = useMemo(() => findDecidedCalls(state.calls, address), [state.calls, address.line, address.office])
  const list = useRef<HTMLDivElement>(null)
  const isSteady = useSteady(list)
  return (
    <>
      <div class="row between field">
        <span role="status">
          {`${formatNumberOf(open.length, "call")} ${open.length > 1 ? "wait" : "waits"} for an approval`}
          {open.some(({ approval }) => approval.isQuestion === true) && " or an answer"}
        </span>
        <label>
          <input
            type="checkbox"
            checked={isSoundOn.value}
            onChange={(event) => switchSound(event.currentTarget.checked)}
          />{" "}
          Sound for new approvals
        </label>
      </div>
      <div ref={list}>
        {cards.map((entry) => (
          <ApprovalCard key={entry.key} entry={entry} canDecide={canDecide(entry)} isSteady={isSteady} />
        ))}
        {cards.length === 0 && (
          <Empty>A call appears here when a rule of its Computer, or the user, asks for an approval.</Empty>
        )}
      </div>
      {listed.current.length > cards.length && (
        <p class="note">{formatCount(listed.current.length - cards.length)} further approvals follow after these.</p>
      )}
      <h2>Latest decisions</h2>
      <Table
        label="Latest decisions"
        width="wide"
        columns={decisionColumns}
        rows={decided}
        keyOf={({ call }) => call.id}
        empty="No approver decided a call since this page was opened."
      />
    </>
  )
}
