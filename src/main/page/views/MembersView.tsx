import type { JSX } from "preact"
import { formatDuration, formatNumberOf } from "../../../domain/text/format.ts"
import type { InspectedServer, Inspection, InspectedFault, InspectedPart } from "../../../domain/page/Inspection.ts"
import type { PageMember } from "../../../domain/page/PageEvent.ts"
import { computerKey } from "../../../domain/page/PageState.ts"
import type { OfficeRoute } from "../../../domain/page/route.ts"
import { currentOffice, memberCommand, pageState, session, useServerTime } from "../connection/store.ts"
import { exampleCommand, Empty, ComputerCards } from "../parts/missing.tsx"
import { type Column, countColumn, Facts, stateColumn, Table } from "../parts/Table.tsx"
import { LongText, Name, formatDateTime, formatClock } from "../parts/Text.tsx"
import { DisconnectButton, RoleTag } from "./OfficesView.tsx"

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
const InspectionOf = ({ children, member }: InspectionOfProps) => {
  const inspection = pageState.value.inspections.get(computerKey(member, member.name))
  if (session.value?.office !== undefined)
    return <p class="note">Computers report this information to the page of their Server only.</p>
  if (!member.features.inspection)
    return <p class="note">This information is not available from the implementation of this Computer.</p>
  if (inspection === undefined) return <p class="note">The Computer has not reported its state yet.</p>
  return children(inspection)
}

const MemberSection = ({ member }: { readonly member: PageMember }) => (
  <section class="card">
    <div class="row between">
      <h2>
        <RoleTag role={member.role} /> <Name of={member.name} />
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

/** The members of an office, with the MCP servers of its Computers. */
export const MembersView = ({ address }: OfficeRoute) => {
  const { agents, computers } = currentOffice(address)
  const members = [...agents, ...computers]
  if (members.length === 0) {
    return (
      <Empty command={exampleCommand(address.office)}>
        This office has no members. It appears again when a member joins, for example a Computer:
      </Empty>
    )
  }
  return (
    <>
      {agents.length === 0 && (
        <p class="note">
          The office has no Agent. <code>{memberCommand("agent", address.office, "tools")}</code> joins as one.
        </p>
      )}
      {members.map((member) => (
        <MemberSection key={member.sid} member={member} />
      ))}
    </>
  )
}

/** What a device or a pack offers is listed up to here. */
const maxOffers = 100

const kinds: { readonly [Kind in InspectedPart["kind"]]: string } = { device: "Device", pack: "Pack" }

const Faults = ({ faults }: { readonly faults: ReadonlyArray<InspectedFault> }) => (
  <details>
    <summary class="bad">{formatNumberOf(faults.length, "recent fault")}</summary>
    <ul class="plain">
      {faults.map(({ at, text }, index) => (
        <li key={index}>
          {formatClock(at)} <LongText text={text} />
        </li>
      ))}
    </ul>
  </details>
)

const partColumns: ReadonlyArray<Column<InspectedPart>> = [
  { title: "Name", cell: ({ name }) => <Name of={name} /> },
  { title: "Kind", cell: ({ kind }) => kinds[kind] },
  {
    title: "State",
    cell: ({ faults = [], reason, state }) => (
      <>
        <Name of={state} />
        {reason !== undefined && <LongText text={reason} />}
        {faults.length > 0 && <Faults faults={faults} />}
      </>
    )
  },
  {
    title: "Services or tools",
    cell: ({ offers }) => <Name of={offers.slice(0, maxOffers).join(", ")} length={4_000} />
  }
]

const Parts = ({ parts }: Pick<Inspection, "parts">) => (
  <Table
    label="Devices and packs"
    width="medium"
    columns={partColumns}
    rows={parts}
    keyOf={({ kind, name }) => `${kind} ${name}`}
    empty="This Computer has neither devices nor tool packs."
  />
)

/** The devices and tool packs behind the Computers of an office. */
export const PartsView = ({ address }: OfficeRoute) => (
  <ComputerCards
    address={address}
    hint="Devices and tool packs are MCP servers of a Computer:"
    command={"a2c devices gateway\na2c tools serve"}
  >
    {(member) => <InspectionOf member={member}>{({ parts }) => <Parts parts={parts} />}</InspectionOf>}
  </ComputerCards>
)
