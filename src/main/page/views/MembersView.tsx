import type { ComponentChildren } from "preact"
import { quoteForShell } from "../../../domain/text/quoteForShell.ts"
import { formatCount, formatDuration, formatNumberOf } from "../../../domain/text/format.ts"
import { findPageOffice } from "../../../domain/page/offices.ts"
import type { InspectedServer, Inspection } from "../../../domain/page/Inspection.ts"
import type { OfficeAddress, PageMember } from "../../../domain/page/PageEvent.ts"
import { computerKey } from "../../../domain/page/PageState.ts"
import { pageState, session } from "../connection/store.ts"
import { exampleCommand, Empty } from "../parts/Empty.tsx"
import { LongText, Name } from "../parts/Text.tsx"
import { formatDateTime, useServerTime } from "../parts/time.ts"
import { DisconnectButton } from "./OfficesView.tsx"

const serverClasses: { readonly [State in InspectedServer["state"]]: string } = {
  starting: "waiting",
  ready: "good",
  degraded: "waiting",
  idle: "idle",
  "backing off": "bad",
  failed: "bad",
  stopped: "idle"
}

const ServerRow = ({ now, server }: { readonly server: InspectedServer; readonly now: number }) => (
  <tr>
    <th scope="row">
      <Name of={server.name} />
    </th>
    <td>
      <span class={`state ${serverClasses[server.state]}`}>{server.state}</span>
      {server.reason !== undefined && <LongText text={server.reason} />}
    </td>
    <td title={formatDateTime(server.since)}>{formatDuration(Math.max(0, now - server.since))}</td>
    <td class="number">{formatCount(server.tools)}</td>
    <td class="number">{formatCount(server.windows)}</td>
    <td class="number">{formatCount(server.restarts)}</td>
    <td>
      {server.stderr !== undefined && server.stderr.length > 0 && (
        <details>
          <summary>{formatNumberOf(server.stderr.length, "line")}</summary>
          <LongText text={server.stderr.join("\n")} code />
        </details>
      )}
    </td>
  </tr>
)

const Servers = ({ inspection, label }: { readonly inspection: Inspection; readonly label: string }) => {
  const now = useServerTime(5_000)
  if (inspection.servers.length === 0) return <p class="note">This Computer has no MCP servers.</p>
  return (
    <div class="scroll wide" tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">MCP server</th>
            <th scope="col">State</th>
            <th scope="col">For</th>
            <th scope="col">Tools</th>
            <th scope="col">Windows</th>
            <th scope="col">Restarts</th>
            <th scope="col">Error output</th>
          </tr>
        </thead>
        <tbody>
          {inspection.servers.map((server) => (
            <ServerRow key={server.name} server={server} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The inspection of a Computer, or the reason why it is missing. */
export const InspectionOf = ({
  children,
  member
}: {
  readonly member: PageMember
  readonly children: (inspection: Inspection) => ComponentChildren
}) => {
  const inspection = pageState.value.inspections.get(computerKey(member, member.name))
  if (session.value?.office !== undefined) {
    return <p class="note">Computers report this information to the page of their Server only.</p>
  }
  if (!member.features.inspection) {
    return <p class="note">This information is not available from the implementation of this Computer.</p>
  }
  return inspection === undefined ? (
    <p class="note">The Computer has not reported its state yet.</p>
  ) : (
    <>{children(inspection)}</>
  )
}

const Fact = ({ children, name }: { readonly children: ComponentChildren; readonly name: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

const MemberSection = ({ member }: { readonly member: PageMember }) => (
  <section class="card">
    <div class="card-title">
      <h2>
        <span class={`tag role-${member.role}`}>{member.role === "agent" ? "Agent" : "Computer"}</span>{" "}
        <Name of={member.name} />
      </h2>
      <DisconnectButton member={member} />
    </div>
    {session.value?.office === undefined && (
      <dl class="facts">
        <Fact name="Protocol version">
          <Name of={member.version} />
        </Fact>
        <Fact name="Subject">{member.subject === "" ? "none" : <Name of={member.subject} />}</Fact>
        <Fact name="Joined">{formatDateTime(member.joinedAt)}</Fact>
        <Fact name="Node">
          <Name of={member.node} />
        </Fact>
      </dl>
    )}
    {member.role === "computer" && (
      <InspectionOf member={member}>
        {(inspection) => <Servers inspection={inspection} label="MCP servers" />}
      </InspectionOf>
    )}
  </section>
)

/** The members of an office, with the MCP servers of its Computers. */
export const MembersView = ({ address }: { readonly address: OfficeAddress }) => {
  const { agents, computers } = findPageOffice(pageState.value, address)
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
          The office has no Agent. <code>{`a2c agent --office ${quoteForShell(address.office)} tools`}</code> joins as
          one.
        </p>
      )}
      {members.map((member) => (
        <MemberSection key={member.sid} member={member} />
      ))}
    </>
  )
}
