import { approvalsOfOffice } from "../../../domain/page/calls/openApprovals.ts"
import { formatBytes, formatCount, formatDuration, formatNumberOf } from "../../../domain/text/format.ts"
import { findFailedServers } from "../../../domain/page/officePicture.ts"
import { listOffices, type OfficeSummary } from "../../../domain/page/offices.ts"
import type { PageNode } from "../../../domain/page/PageEvent.ts"
import { officeKey, type Rejection } from "../../../domain/page/PageState.ts"
import { officeHash } from "../../../domain/page/route.ts"
import { memberCommand, openApprovals, pageState } from "../connection/store.ts"
import { CommandButton } from "../parts/CommandButton.tsx"
import { Empty, exampleCommand } from "../parts/missing.tsx"
import { Age, Sparkline, type Column, countColumn, Facts, stateColumn, Table } from "../parts/Table.tsx"
import { LongText, Name, formatClock } from "../parts/Text.tsx"

/** Rejections that are listed; a Server may have more. */
const maxListedRejections = 50

const OpenApprovals = ({ office }: { readonly office: OfficeSummary }) => {
  const count = approvalsOfOffice(openApprovals.value, office).length
  if (count === 0) return null
  return (
    <a href={officeHash(office, "inbox")} aria-label={formatNumberOf(count, "open approval")}>
      {formatCount(count)}
    </a>
  )
}

const officeColumns: ReadonlyArray<Column<OfficeSummary>> = [
  {
    title: "Office",
    cell: (office) => (
      <a href={officeHash(office, "overview")}>
        <Name of={office.office} />
      </a>
    )
  },
  { title: "Protocol line", cell: ({ line }) => <Name of={line} /> },
  {
    title: "Members",
    cell: ({ agents, computers }) =>
      `${formatNumberOf(agents.length, "Agent")}, ${formatNumberOf(computers.length, "Computer")}`
  },
  { title: "Open approvals", cell: (office) => <OpenApprovals office={office} /> },
  {
    title: "Failed MCP servers",
    cell: (office) => findFailedServers(pageState.value, office).length || "",
    kind: () => "bad"
  },
  countColumn("Calls per second", ({ callsPerSecond }) => callsPerSecond),
  { title: "Last minute", cell: ({ history }) => <Sparkline values={history} /> },
  {
    title: "Failed in the last minute",
    cell: ({ failed }) => formatCount(failed),
    kind: ({ failed }) => (failed > 0 ? "bad" : "")
  }
]

const Components = ({ components }: Pick<PageNode, "components">) => (
  <ul class="plain">
    {Object.entries(components).map(([name, { error, ok }]) => (
      <li key={name} class={ok ? "good" : "bad"}>
        <Name of={name} />: {ok ? "ok" : <LongText text={error ?? "fails"} />}
      </li>
    ))}
  </ul>
)

const NodeName = ({ lines, node, version }: PageNode) => (
  <>
    <Name of={node} />
    <div class="note">
      <Name of={version} />, lines <Name of={lines.join(", ")} />
    </div>
  </>
)

const DrainButton = ({ node }: Pick<PageNode, "node">) => (
  <CommandButton
    label="Drain"
    description={`Drain the node ${node}`}
    title="Drain this node?"
    command={{ _tag: "Drain", node }}
  >
    <p>
      The node <Name of={node} /> rejects joins and new calls until it ends. Running calls continue. This cannot be
      undone from the page.
    </p>
  </CommandButton>
)

const formatLatency = ({ latency }: PageNode): string =>
  latency === undefined ? "no calls" : [latency.p50, latency.p90, latency.p99].map(formatDuration).join(" / ")

const nodeColumns: ReadonlyArray<Column<PageNode>> = [
  { title: "Node", cell: (node) => <NodeName {...node} /> },
  stateColumn,
  { title: "Components", cell: ({ components }) => <Components components={components} /> },
  { title: "Call time with waits, p50 / p90 / p99", cell: formatLatency },
  countColumn("Calls per second", ({ callsPerSecond }) => callsPerSecond),
  countColumn("Calls in flight", ({ callsInFlight }) => callsInFlight),
  countColumn("Connections", ({ connections }) => connections),
  {
    title: "Memory",
    cell: ({ memoryBytes, state }) => state !== "unavailable" && formatBytes(memoryBytes)
  },
  { title: "Uptime", cell: ({ startedAt, state }) => state !== "unavailable" && <Age since={startedAt} /> },
  { title: "Actions", cell: ({ node, state }) => state === "ready" && <DrainButton node={node} /> }
]

const rejectionColumns: ReadonlyArray<Column<Rejection>> = [
  { title: "Time", cell: ({ at }) => formatClock(at) },
  { title: "Rejected", cell: ({ what }) => what },
  { title: "Code", cell: ({ code }) => code ?? "" },
  { title: "Reason", cell: ({ reason }) => <LongText text={reason} /> },
  { title: "Subject", cell: ({ subject = "" }) => <Name of={subject} /> },
  { title: "Address", cell: ({ remoteAddress = "" }) => <Name of={remoteAddress} /> }
]

/** The sum of a figure of offices or nodes. */
const totalOf = <A,>(rows: ReadonlyArray<A>, figureOf: (row: A) => number): string =>
  formatCount(rows.reduce((total, row) => total + figureOf(row), 0))

/** All offices of the Server, its nodes, and what it rejected. */
export const OfficesView = () => {
  const state = pageState.value
  const { omittedMembers, rejections } = state
  const offices = listOffices(state)
  const nodes = [...state.nodes.values()]
  return (
    <>
      <h1>Offices</h1>
      <p class="note">
        In an office one Agent, the host of a language model, works with any number of Computers, which run MCP servers.
        This page observes them. It is not a member.
      </p>
      <div class="card">
        <Facts
          isRow
          facts={[
            ["Offices", formatCount(offices.length)],
            ["Agents", totalOf(offices, ({ agents }) => agents.length)],
            ["Computers", totalOf(offices, ({ computers }) => computers.length)],
            ["Calls per second", totalOf(offices, ({ callsPerSecond }) => callsPerSecond)],
            ["Calls in flight", totalOf(nodes, ({ callsInFlight }) => callsInFlight)],
            ["Connections", totalOf(nodes, ({ connections }) => connections)]
          ]}
        />
      </div>
      {offices.length === 0 ? (
        <Empty command={`${exampleCommand("team")}\n${memberCommand("agent", "team", "tools")}`}>
          No member has joined an office. An office exists while it has members. Start a Computer, then an Agent:
        </Empty>
      ) : (
        <Table label="Offices" columns={officeColumns} rows={offices} keyOf={officeKey} />
      )}
      {omittedMembers > 0 && <p class="note">{formatCount(omittedMembers)} further members are not listed.</p>}
      <h2>Nodes</h2>
      <Table
        label="Nodes"
        columns={nodeColumns}
        rows={nodes}
        keyOf={({ node }) => node}
        empty="No node has reported yet."
      />
      <h2>Latest rejections</h2>
      <Table
        label="Rejections"
        columns={rejectionColumns}
        hasRowHeaders={false}
        rows={rejections.slice(0, maxListedRejections)}
        keyOf={(_, index) => rejections.length - index}
        empty="Nothing was rejected since this page was opened."
      />
    </>
  )
}
