import type { JSX } from "preact"
import { formatDuration, formatNumberOf } from "../../../../domain/text/format.ts"
import type { InspectedServer, Inspection } from "../../../../domain/page/Inspection.ts"
import type { PageMember } from "../../../../domain/page/PageEvent.ts"
import { computerKey } from "../../../../domain/page/PageState.ts"
import { pageState, session, useServerTime } from "../../connection/store.ts"
import { Icon } from "../../parts/Icon.tsx"
import { type Column, countColumn, Facts, stateColumn, Table } from "../../parts/Table.tsx"
import { formatDateTime, LongText, Name } from "../../parts/Text.tsx"
import { DisconnectButton } from "../OfficesView.tsx"

const serverColumns = (now: number): ReadonlyArray<Column<InspectedServer>> => [
  { title: "MCP server", cell: ({ name }) => <Name of={name} /> },
  stateColumn,
  {
    title: "For",
    cell: ({ since }) => formatDuration(Math.max(0, now - since)),
    hint: ({ since }) => formatDateTime(since)
  },
  countColumn("Tools", ({ tools }) => tools),
  countColumn("Windows", ({ windows }) => windows),
  countColumn("Restarts", ({ restarts }) => restarts),
  {
    title: "Error output",
    cell: ({ stderr = [] }) =>
      stderr.length > 0 && (
        <details>
          <summary>{formatNumberOf(stderr.length, "line")}</summary>
          <LongText text={stderr.join("\n")} code />
        </details>
      )
  }
]

const Servers = ({ servers }: Pick<Inspection, "servers">) => {
  const columns = serverColumns(useServerTime(5_000))
  const empty = "This Computer has no MCP servers."
  return (
    <Table label="MCP servers" width="wide" columns={columns} rows={servers} keyOf={({ name }) => name} empty={empty} />
  )
}

interface InspectionOfProps {
  readonly member: PageMember
  readonly children: (inspection: Inspection) => JSX.Element
}

/** The inspection of a Computer, or the reason why it is missing. */
export const InspectionOf = ({ children, member }: InspectionOfProps) => {
  const inspection = pageState.value.inspections.get(computerKey(member, member.name))
  if (session.value?.office !== undefined)
    return <p class="note">Computers report this information to the page of their Server only.</p>
  if (!member.features.inspection)
    return <p class="note">This information is not available from the implementation of this Computer.</p>
  if (inspection === undefined) return <p class="note">The Computer has not reported its state yet.</p>
  return children(inspection)
}

/** A member, with the MCP servers of a Computer. */
export const MemberDetails = ({ member }: { readonly member: PageMember }) => (
  <section class="card">
    <div class="row between">
      <h2>
        <Icon of={member.role} /> {member.role === "agent" ? "Agent" : "Computer"} <Name of={member.name} />
      </h2>
      <DisconnectButton member={member} />
    </div>
    {session.value?.office === undefined && (
      <Facts
        isRow
        facts={[
          ["Protocol version", <Name of={member.version} />],
          ["Subject", member.subject === "" ? "none" : <Name of={member.subject} />],
          ["Joined", formatDateTime(member.joinedAt)],
          ["Node", <Name of={member.node} />]
        ]}
      />
    )}
    {member.role === "computer" && (
      <InspectionOf member={member}>{({ servers }) => <Servers servers={servers} />}</InspectionOf>
    )}
  </section>
)
