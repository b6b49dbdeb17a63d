import { formatNumberOf } from "../../../../domain/text/format.ts"
import type { InspectedPart, InspectedServer } from "../../../../domain/page/Inspection.ts"
import type { PageMember } from "../../../../domain/page/PageEvent.ts"
import { computerKey } from "../../../../domain/page/PageState.ts"
import { pageState, session } from "../../connection/store.ts"
import { Icon } from "../../parts/Icon.tsx"
import { Age, type Column, countColumn, Facts, stateColumn, Table } from "../../parts/Table.tsx"
import { formatClock, LongText, Name } from "../../parts/Text.tsx"
import { memberColumns, MemberName } from "../SettingsView.tsx"

/** What a device or a pack offers is listed up to here. */
const maxOffers = 100

/** A column of foreign lines that are shown on demand. */
const linesColumn = <A,>(title: string, noun: string, linesOf: (row: A) => ReadonlyArray<string>): Column<A> => ({
  title,
  cell: (row) => {
    const lines = linesOf(row)
    if (lines.length === 0) return null
    return (
      <details>
        <summary>{formatNumberOf(lines.length, noun)}</summary>
        <LongText text={lines.join("\n")} code />
      </details>
    )
  }
})

const serverColumns: ReadonlyArray<Column<InspectedServer>> = [
  { title: "MCP server", cell: ({ name }) => <Name of={name} /> },
  stateColumn,
  { title: "For", cell: ({ since }) => <Age since={since} /> },
  countColumn("Tools", ({ tools }) => tools),
  countColumn("Windows", ({ windows }) => windows),
  countColumn("Restarts", ({ restarts }) => restarts),
  linesColumn("Error output", "line", ({ stderr = [] }) => stderr)
]

const partColumns: ReadonlyArray<Column<InspectedPart>> = [
  {
    title: "Name",
    cell: ({ kind, name }) => (
      <>
        <Icon of={kind} /> <Name of={name} />
      </>
    )
  },
  { title: "Kind", cell: ({ kind }) => (kind === "device" ? "Device" : "Pack") },
  stateColumn,
  {
    title: "Services or tools",
    cell: ({ offers }) => <Name of={offers.slice(0, maxOffers).join(", ")} length={4_000} />
  },
  linesColumn("Recent faults", "fault", ({ faults = [] }) => faults.map(({ at, text }) => `${formatClock(at)} ${text}`))
]

/** What a Computer drives, or the reason why it is not known. */
const ComputerDetails = ({ member }: { readonly member: PageMember }) => {
  const inspection = pageState.value.inspections.get(computerKey(member, member.name))
  if (session.value?.office !== undefined)
    return <p class="note">Computers report this information to the page of their Server only.</p>
  if (!member.features.inspection)
    return <p class="note">This information is not available from the implementation of this Computer.</p>
  if (inspection === undefined) return <p class="note">The Computer has not reported its state yet.</p>
  return (
    <>
      <Table
        label="MCP servers"
        columns={serverColumns}
        rows={inspection.servers}
        keyOf={({ name }) => name}
        empty="This Computer has no MCP servers."
      />
      <h3>Devices and packs</h3>
      <Table
        label="Devices and packs"
        columns={partColumns}
        rows={inspection.parts}
        keyOf={({ kind, name }) => `${kind} ${name}`}
        empty="This Computer has neither devices nor tool packs."
      />
    </>
  )
}

/** A member, with the MCP servers, devices and packs of a Computer. */
export const MemberDetails = ({ member }: { readonly member: PageMember }) => (
  <section class="card">
    <h2>
      <MemberName of={member} />
    </h2>
    {session.value?.office === undefined && (
      <Facts isRow facts={memberColumns.slice(1).map(({ cell, title }) => [title, cell(member)])} />
    )}
    {member.role === "computer" && <ComputerDetails member={member} />}
  </section>
)
