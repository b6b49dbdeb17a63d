import { countByOffice } from "../../../domain/page/calls/openApprovals.ts"
import { formatBytes, formatCount, formatDuration, formatNumberOf } from "../../../domain/text/format.ts"
import { listOffices, type OfficeSummary } from "../../../domain/page/offices.ts"
import type { PageMember, PageNode } from "../../../domain/page/PageEvent.ts"
import { officeKey, type Rejection } from "../../../domain/page/PageState.ts"
import { officeHash } from "../../../domain/page/route.ts"
import { openApprovals, pageState, session } from "../connection/store.ts"
import { CommandButton } from "../parts/CommandButton.tsx"
import { Empty } from "../parts/Empty.tsx"
import { Introduction } from "./Introduction.tsx"
import { Sparkline } from "../parts/Sparkline.tsx"
import { LongText, Name } from "../parts/Text.tsx"
import { formatClock, formatDateTime, useServerTime } from "../parts/time.ts"

/** Members and rejections that are listed; a Server may have more. */
const maxListedMembers = 50
const maxListedRejections = 50

/** Disconnects a member. The page of an Agent has no such right. */
export const DisconnectButton = ({ member }: { readonly member: PageMember }) =>
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

const MemberItem = ({ member }: { readonly member: PageMember }) => (
  <li>
    <span class={`tag role-${member.role}`}>{member.role === "agent" ? "Agent" : "Computer"}</span>
    <span class="grow">
      <Name of={member.name} />
    </span>
    <DisconnectButton member={member} />
  </li>
)

const OfficeRow = ({ approvals, office }: { readonly approvals: number; readonly office: OfficeSummary }) => {
  const members = [...office.agents, ...office.computers]
  return (
    <tr>
      <th scope="row">
        <a href={officeHash(office, "members")}>
          <Name of={office.office} />
        </a>
      </th>
      <td>
        <Name of={office.line} />
      </td>
      <td>
        <details>
          <summary>{`${formatNumberOf(office.agents.length, "Agent")}, ${formatNumberOf(office.computers.length, "Computer")}`}</summary>
          <ul class="plain members">
            {members.slice(0, maxListedMembers).map((member) => (
              <MemberItem key={member.sid} member={member} />
            ))}
          </ul>
          {members.length > maxListedMembers && <a href={officeHash(office, "members")}>all members</a>}
        </details>
      </td>
      <td class="number">
        {approvals > 0 && (
          <a href={officeHash(office, "inbox")} aria-label={formatNumberOf(approvals, "open approval")}>
            {formatCount(approvals)}
          </a>
        )}
      </td>
      <td class="number">{formatCount(office.callsPerSecond)}</td>
      <td>
        <Sparkline values={office.history} />
      </td>
      <td class={office.failed > 0 ? "number bad" : "number"}>{formatCount(office.failed)}</td>
    </tr>
  )
}

const Offices = ({ offices }: { readonly offices: ReadonlyArray<OfficeSummary> }) => {
  const approvals = countByOffice(openApprovals.value)
  return offices.length === 0 ? (
    <Empty command={"a2c computer --office team --config mcp.json\na2c agent --office team tools"}>
      No member has joined an office. An office exists while it has members. Start a Computer, then an Agent:
    </Empty>
  ) : (
    <div class="scroll wide" tabIndex={0} role="group" aria-label="Offices">
      <table>
        <thead>
          <tr>
            <th scope="col">Office</th>
            <th scope="col">Protocol line</th>
            <th scope="col">Members</th>
            <th scope="col">Open approvals</th>
            <th scope="col">Calls per second</th>
            <th scope="col">Last minute</th>
            <th scope="col">Failed calls</th>
          </tr>
        </thead>
        <tbody>
          {offices.map((office) => (
            <OfficeRow key={officeKey(office)} office={office} approvals={approvals.get(officeKey(office)) ?? 0} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const Components = ({ components }: Pick<PageNode, "components">) => (
  <ul class="plain">
    {Object.entries(components).map(([name, { error, ok }]) => (
      <li key={name} class={ok ? "good" : "bad"}>
        <Name of={name} />: {ok ? "ok" : <LongText text={error ?? "fails"} />}
      </li>
    ))}
  </ul>
)

const nodeClasses: { readonly [State in PageNode["state"]]: string } = {
  starting: "waiting",
  ready: "good",
  draining: "waiting",
  unavailable: "bad"
}

const NodeRow = ({ node, now }: { readonly node: PageNode; readonly now: number }) => (
  <tr>
    <th scope="row">
      <Name of={node.node} />
      <div class="note">
        <Name of={node.version} />, lines <Name of={node.lines.join(", ")} />
      </div>
    </th>
    <td>
      <span class={`state ${nodeClasses[node.state]}`}>{node.state}</span>
      {node.reason !== undefined && <LongText text={node.reason} />}
    </td>
    <td>
      <Components components={node.components} />
    </td>
    <td>
      {node.latency === undefined
        ? "no calls"
        : `${formatDuration(node.latency.p50)} / ${formatDuration(node.latency.p90)} / ${formatDuration(node.latency.p99)}`}
    </td>
    <td class="number">{formatCount(node.callsPerSecond)}</td>
    <td class="number">{formatCount(node.callsInFlight)}</td>
    <td class="number">{formatCount(node.connections)}</td>
    <td class="number">{node.state !== "unavailable" && formatBytes(node.memoryBytes)}</td>
    <td title={formatDateTime(node.startedAt)}>
      {node.state !== "unavailable" && formatDuration(Math.max(0, now - node.startedAt))}
    </td>
    <td>
      {node.state === "ready" && (
        <CommandButton
          label="Drain"
          description={`Drain the node ${node.node}`}
          title="Drain this node?"
          command={{ _tag: "Drain", node: node.node }}
        >
          <p>
            The node <Name of={node.node} /> rejects joins and new calls until it ends. Running calls continue. This
            cannot be undone from the page.
          </p>
        </CommandButton>
      )}
    </td>
  </tr>
)

const nodeColumns = [
  "Node",
  "State",
  "Components",
  "Latency p50 / p90 / p99",
  "Calls per second",
  "Calls in flight",
  "Connections",
  "Memory",
  "Uptime",
  "Actions"
]

const Nodes = ({ nodes }: { readonly nodes: ReadonlyArray<PageNode> }) => {
  const now = useServerTime(10_000)
  return (
    <div class="scroll widest" tabIndex={0} role="group" aria-label="Nodes">
      <table>
        <thead>
          <tr>
            {nodeColumns.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <NodeRow key={node.node} node={node} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const Rejections = ({ rejections }: { readonly rejections: ReadonlyArray<Rejection> }) => (
  <div class="scroll wide" tabIndex={0} role="group" aria-label="Rejections">
    <table>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Rejected</th>
          <th scope="col">Code</th>
          <th scope="col">Reason</th>
          <th scope="col">Subject</th>
          <th scope="col">Address</th>
        </tr>
      </thead>
      <tbody>
        {rejections.slice(0, maxListedRejections).map(({ at, code, reason, remoteAddress, subject, what }, index) => (
          <tr key={rejections.length - index}>
            <td>{formatClock(at)}</td>
            <td>{what}</td>
            <td class="number">{code ?? ""}</td>
            <td>
              <LongText text={reason} />
            </td>
            <td>
              <Name of={subject ?? ""} />
            </td>
            <td>
              <Name of={remoteAddress ?? ""} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const Totals = ({ nodes, offices }: OfficesAndNodes) => {
  const sum = (values: ReadonlyArray<number>): string => formatCount(values.reduce((total, one) => total + one, 0))
  const totals = [
    ["Offices", formatCount(offices.length)],
    ["Agents", sum(offices.map(({ agents }) => agents.length))],
    ["Computers", sum(offices.map(({ computers }) => computers.length))],
    ["Calls per second", sum(offices.map(({ callsPerSecond }) => callsPerSecond))],
    ["Calls in flight", sum(nodes.map(({ callsInFlight }) => callsInFlight))],
    ["Connections", sum(nodes.map(({ connections }) => connections))]
  ]
  return (
    <dl class="totals">
      {totals.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface OfficesAndNodes {
  readonly offices: ReadonlyArray<OfficeSummary>
  readonly nodes: ReadonlyArray<PageNode>
}

/** All offices of the Server, its nodes, and what it rejected. */
export const OfficesView = () => {
  const state = pageState.value
  const { omittedMembers, rejections } = state
  const offices = listOffices(state)
  const nodes = [...state.nodes.values()]
  return (
    <>
      <h1>Offices</h1>
      <Introduction />
      <Totals offices={offices} nodes={nodes} />
      <Offices offices={offices} />
      {omittedMembers > 0 && <p class="note">{formatCount(omittedMembers)} further members are not listed.</p>}
      <h2>Nodes</h2>
      {nodes.length === 0 ? <p class="note">No node has reported yet.</p> : <Nodes nodes={nodes} />}
      <h2>Latest rejections</h2>
      {rejections.length === 0 ? (
        <p class="note">Nothing was rejected since this page was opened.</p>
      ) : (
        <Rejections rejections={rejections} />
      )}
    </>
  )
}
