import { computed } from "@preact/signals"
import { useEffect, useMemo, useRef } from "preact/hooks"
import { findFailedServers } from "../../../../domain/page/officePicture.ts"
import type { OfficeAddress } from "../../../../domain/page/PageEvent.ts"
import { officeKey } from "../../../../domain/page/PageState.ts"
import { SmallButton } from "../../parts/controls.tsx"
import { Icon } from "../../parts/Icon.tsx"
import {
  approvalsOfOffice,
  type DecidedCall,
  findDecidedCalls,
  type ListedApproval,
  updateListed
} from "../../../../domain/page/calls/openApprovals.ts"
import { formatCount, formatNumberOf } from "../../../../domain/text/format.ts"
import { isSoundOn, switchSound } from "../../connection/approvalSound.ts"
import { officeHash } from "../../../../domain/page/route.ts"
import { currentOffice, isDrawerOpen, openApprovals, pageState, route } from "../../connection/store.ts"
import { Empty } from "../../parts/missing.tsx"
import { ApprovalCards } from "./ApprovalCard.tsx"
import { type Column, Table } from "../../parts/Table.tsx"
import { formatDateTime, LongText, Name } from "../../parts/Text.tsx"

const decisionColumns: ReadonlyArray<Column<DecidedCall>> = [
  {
    title: "Tool",
    cell: ({ call }) => (
      <a href={officeHash(call, "activity", { call: call.id })}>
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

/** The MCP servers of the watched office that do not run. */
export const failedServers = computed(() =>
  route.value._tag === "Office" ? findFailedServers(pageState.value, currentOffice(route.value.address)) : []
)

/** The approvals of the office that is shown, or of all offices. */
export const shownApprovals = computed(() =>
  route.value._tag === "Office" ? approvalsOfOffice(openApprovals.value, route.value.address) : openApprovals.value
)

/** The calls that wait for an approval. Cards keep their places, so another office has another list. */
const Approvals = () => {
  const open = shownApprovals.value
  const listed = useRef<ReadonlyArray<ListedApproval>>([])
  listed.current = updateListed(listed.current, open, pageState.value.calls)
  const cards = listed.current.slice(0, maxCards)
  return (
    <>
      <p role="status">
        {`${formatNumberOf(open.length, "call")} ${open.length > 1 ? "wait" : "waits"} for an approval`}
        {open.some(({ approval }) => approval.isQuestion === true) && " or an answer"}
      </p>
      <ApprovalCards entries={cards} />
      {cards.length === 0 ? (
        <Empty>Calls that need an approval, and questions of MCP servers, appear here.</Empty>
      ) : (
        <p class="note access-keys">
          Access keys of the browser: N opens and closes this list, A allows once, D denies.
        </p>
      )}
      {listed.current.length > cards.length && (
        <p class="note">{formatCount(listed.current.length - cards.length)} further approvals follow after these.</p>
      )}
    </>
  )
}

const FailedServers = () =>
  failedServers.value.map(({ computer, server: { name, reason = "", state } }) => (
    <article key={`${computer.sid} ${name}`} class="card">
      <h2>
        <Icon of="server" /> <Name of={name} /> <span class="bad">{state}</span>
      </h2>
      <LongText text={reason} />
      <a href={officeHash(computer, "overview", { computer: computer.name })}>
        Show the Computer <Name of={computer.name} />
      </a>
    </article>
  ))

const Decisions = ({ address }: { readonly address: OfficeAddress }) => {
  const { calls } = pageState.value
  const decided = useMemo(() => findDecidedCalls(calls, address), [calls, address])
  return (
    <>
      <h2>Latest decisions</h2>
      <Table
        label="Latest decisions"
        columns={decisionColumns}
        rows={decided}
        keyOf={({ call }) => call.id}
        empty="No approver allowed or denied a call since this page was opened. Answers to questions are not listed."
      />
    </>
  )
}

/** What needs a person: approvals, questions and failed MCP servers, from every view. */
export const NeedsDrawer = () => {
  const address = route.value._tag === "Office" ? route.value.address : undefined
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const opener = document.activeElement
    if (opener === document.body || !(opener instanceof HTMLElement)) return undefined
    heading.current?.focus()
    return () => opener.focus()
  }, [])
  return (
    <aside
      class="drawer"
      aria-label="Needs you"
      onKeyDown={({ key }) => key === "Escape" && (isDrawerOpen.value = false)}
    >
      <div class="row between">
        <h2 ref={heading} tabIndex={-1}>
          Needs you
        </h2>
        <SmallButton description="Close the list of what needs you" onPress={() => (isDrawerOpen.value = false)}>
          Close
        </SmallButton>
      </div>
      <label>
        <input
          type="checkbox"
          checked={isSoundOn.value}
          onChange={(event) => switchSound(event.currentTarget.checked)}
        />{" "}
        Sound for new approvals
      </label>
      <Approvals key={address && officeKey(address)} />
      <FailedServers />
      {address && <Decisions address={address} />}
    </aside>
  )
}
