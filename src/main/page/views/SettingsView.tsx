import { roleNames } from "../../../domain/page/officePicture.ts"
import type { PageMember } from "../../../domain/page/PageEvent.ts"
import type { OfficeRoute } from "../../../domain/page/route.ts"
import { currentOffice, memberCommand, session } from "../connection/store.ts"
import { CommandButton } from "../parts/CommandButton.tsx"
import { Icon } from "../parts/Icon.tsx"
import { Command, exampleCommand } from "../parts/missing.tsx"
import { type Column, Table } from "../parts/Table.tsx"
import { formatDateTime, Name } from "../parts/Text.tsx"

/** What a Computer lets operators do, as its flags have it. */
const describeShares = ({ features, role }: PageMember): string =>
  role === "agent"
    ? ""
    : [
        ...(features.inspection ? ["see the states of its MCP servers"] : []),
        ...(features.operatorCalls ? ["call its tools beside the Agent"] : []),
        ...(features.approvals ? ["decide about its approvals"] : [])
      ].join(", ") || "nothing"

/** Disconnects a member. The page of an Agent has no such right. */
const DisconnectButton = ({ member }: { readonly member: PageMember }) =>
  session.value?.office === undefined && (
    <CommandButton
      label="Disconnect"
      description={`Disconnect ${member.name}`}
      title="Disconnect this member?"
      command={{ _tag: "Disconnect", sid: member.sid }}
    >
      <p>
        <Name of={member.name} /> leaves the office <Name of={member.office} />, and its calls end. Most members
        reconnect by themselves.
      </p>
    </CommandButton>
  )

export const MemberName = ({ of: { name, role } }: { readonly of: PageMember }) => (
  <>
    <Icon of={role} /> {roleNames[role]} <Name of={name} />
  </>
)

/** What is known of a member. */
export const memberColumns: ReadonlyArray<Column<PageMember>> = [
  { title: "Member", cell: (member) => <MemberName of={member} /> },
  { title: "Protocol version", cell: ({ version }) => <Name of={version} /> },
  { title: "Subject", cell: ({ subject }) => <Name of={subject || "none"} /> },
  { title: "Node", cell: ({ node }) => <Name of={node} /> },
  { title: "Joined", cell: ({ joinedAt }) => formatDateTime(joinedAt) },
  { title: "Operators may", cell: describeShares },
  { title: "Actions", cell: (member) => <DisconnectButton member={member} /> }
]

/** The members of an office, what its Computers share, and how others join. */
export const SettingsView = ({ address }: OfficeRoute) => {
  const { agents, computers } = currentOffice(address)
  return (
    <>
      <h2>Members</h2>
      <Table
        label="Members"
        columns={memberColumns}
        rows={[...agents, ...computers]}
        keyOf={({ sid }) => sid}
        empty="This office has no members."
      />
      {session.value?.office === undefined && (
        <>
          <h2>Join this office</h2>
          <Command text={exampleCommand(address.office)} />
          <Command text={memberCommand("agent", address.office, "tools")} />
        </>
      )}
    </>
  )
}
