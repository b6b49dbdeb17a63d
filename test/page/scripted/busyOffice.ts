import type { DocumentSummary } from "../../../src/domain/model/messages/requests.ts"
import type { PageCall, PageEvent } from "../../../src/domain/page/PageEvent.ts"
import {
  agent,
  makeApproval,
  makeCall,
  makeInspection,
  makeMember,
  makeNode,
  makeSnapshot,
  makeTool,
  makeWaitingCall,
  startTime,
  team
} from "./pageFixtures.ts"
import type { ScriptedServer } from "./ScriptedServer.ts"

const lab = { line: "0.4", office: "research-lab" }

/** The views by their hashes; each shows what it can show. */
export const busyViews: { readonly [view: string]: string } = {
  offices: "#/offices",
  overview: "#/office/0.2/team/overview?computer=desk",
  inbox: "#/office/0.2/team/inbox",
  tools: "#/office/0.2/team/tools?tool=create_issue&computer=desk",
  prompts: "#/office/0.2/team/prompts?prompt=review&server=tracker&computer=desk",
  desktop: "#/office/0.2/team/windows",
  calls: "#/office/0.2/team/activity?call=call-3",
  documents: "#/office/0.2/team/documents?computer=desk&uri=dpe%3A%2F%2Fnotes%2Freport-2.pdf%3Fformat%3Dmarkdown",
  settings: "#/office/0.2/team/settings"
}

const tools = [
  makeTool(),
  makeTool({
    name: "create_issue",
    bundleId: "tracker",
    description: "Creates an issue in a project. The issue is visible to all members of the project at once.",
    paramsSchema: {
      type: "object",
      required: ["title", "project", "labels"],
      properties: {
        title: { type: "string", description: "One line, without the number of the issue." },
        project: { type: "string", enum: ["office", "devices", "documents"], default: "office" },
        priority: { type: "integer", minimum: 1, maximum: 5, default: 3, description: "1 is the most urgent." },
        isPrivate: { type: "boolean", description: "Only members with the right triage see it." },
        labels: { type: "array", items: { type: "string" }, default: ["triage"] },
        assignee: {
          type: "object",
          description: "The member that works on it.",
          properties: { name: { type: "string" }, notify: { type: "boolean", default: true } },
          required: ["name"]
        },
        due: { anyOf: [{ type: "string", format: "date" }, { type: "null" }], title: "Due date" }
      }
    },
    meta: {
      MCP_TOOL_ANNOTATION: JSON.stringify({ title: "Create issue", destructiveHint: false, openWorldHint: true })
    }
  }),
  ...["list_issues", "search_code", "read_file", "write_file", "run_tests", "get_weather", "remove_branch"].map(
    (name) =>
      makeTool({ name, bundleId: "files", description: `Works on the files of a project: ${name.replace("_", " ")}.` })
  )
]

const report = `# Weekly report

The **build** is stable again. Three changes, of which one is _large_:

1. The Server drains before it ends
2. \`a2c agent\` shows the progress of a call
3. Windows are Markdown ([format](https://example.org/format))

| suite | passed | failed |
| ----- | ------ | ------ |
| unit  | 4,812  | 0      |
| long  | 97     | 1      |

> The failure is in the network of the runner.

\`\`\`sh
npm test && npm run suite -- --ci
\`\`\`
`

const documents = Array.from(
  { length: 8 },
  (_, index): DocumentSummary => ({
    docRef: `report-${index + 1}`,
    uri: `dpe://notes/report-${index + 1}.pdf?format=markdown`,
    fileUri: `file:///notes/report-${index + 1}.pdf`,
    fileType: index % 2 === 0 ? "docx" : "pdf",
    title: `Report of week ${index + 1}`,
    pageCount: 3 + index * 7,
    summary: "Results of the tests, open questions, and the plan of the next week.",
    server: "notes",
    lastModified: "2026-11-03T09:30:00Z"
  })
)

const outcomes: ReadonlyArray<Partial<PageCall>> = [
  { outcome: "ok" },
  { outcome: "ok" },
  { outcome: "tool_error" },
  { outcome: "ok" },
  { outcome: "cancelled" },
  { outcome: "ok" },
  { outcome: "4004" }
]

const endedCalls = Array.from({ length: 120 }, (_, index) => {
  const startedAt = startTime - 58_000 + index * 470
  return makeCall({
    id: `call-${index}`,
    reqId: `req-${index}`,
    computer: ["desk", "printer-room", "gpu-box"][index % 3] ?? "desk",
    tool: tools[index % tools.length]?.name ?? "echo",
    startedAt,
    endedAt: startedAt + 90 + ((index * 397) % 2_600),
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    ...outcomes[index % outcomes.length],
    ...(index % 30 === 3 && {
      decision: { _tag: "Decided", computer: "desk", isAllowed: index > 40, by: "operator:ann" }
    })
  })
})

const runningCalls = [
  makeCall({
    id: "call-waiting",
    computer: "printer-room",
    tool: "get_weather",
    status: { _tag: "WaitingForServers", computer: "printer-room", servers: ["weather"] }
  }),
  makeCall({
    id: "call-consent",
    tool: "remove_branch",
    startedAt: startTime - 6_000,
    status: { _tag: "WaitingForConsent", computer: "desk" }
  }),
  makeWaitingCall({ id: "call-approval", startedAt: startTime - 5_000 }),
  makeWaitingCall({ id: "call-elsewhere", computer: "gpu-box", tool: "run_tests", startedAt: startTime - 2_000 }),
  makeCall({
    id: "call-running",
    computer: "gpu-box",
    tool: "run_tests",
    startedAt: startTime - 9_000,
    status: { _tag: "Progressing", computer: "gpu-box", progress: 420, total: 800, message: "integration" }
  })
]

const inspection = makeInspection({
  servers: [
    { name: "notes", state: "ready", since: startTime - 3_600_000, restarts: 0, tools: 12, windows: 2 },
    { name: "tracker", state: "ready", since: startTime - 1_800_000, restarts: 1, tools: 9, windows: 0 },
    { name: "weather", state: "starting", since: startTime - 2_000, restarts: 0, tools: 0, windows: 0 },
    {
      name: "search",
      state: "degraded",
      reason: "2 of 3 health checks failed",
      since: startTime - 40_000,
      restarts: 0,
      tools: 4,
      windows: 0
    },
    {
      name: "files",
      state: "failing",
      reason: "The process ended with the exit code 1",
      since: startTime - 5_000,
      restarts: 4,
      tools: 0,
      windows: 0,
      stderr: ["Error: cannot open /data/index.db", "    at open (index.js:41:11)", "giving up after 3 attempts"]
    },
    { name: "archive", state: "stopped", since: startTime - 7_200_000, restarts: 0, tools: 0, windows: 0 }
  ],
  consent: [
    { tool: "create_issue", rule: "needs consent" },
    { tool: "echo", rule: "runs without consent" },
    { tool: "remove_branch", rule: "forbidden" }
  ],
  parts: [
    { kind: "device", name: "lamp-hall", state: "connected", offers: ["switch", "dim", "colour"] },
    { kind: "device", name: "lock-lab", state: "faulty", reason: "no frame for 90 s", offers: ["open", "close"] },
    { kind: "pack", name: "shell-tools", state: "active", offers: ["run", "which", "env"] }
  ]
})

/** An approval with all parts: the tool has changed, and so have the arguments. */
const approval = makeApproval({
  reason: "Writes outside of the project need a person.",
  arguments: JSON.stringify({ path: "/etc/hosts", mode: "append", lines: ["127.0.0.1 office", "# end"] }, null, 2),
  previousArguments: JSON.stringify({ path: "notes/hosts", mode: "append", lines: ["127.0.0.1 office"] }, null, 2),
  change: {
    approvedAt: startTime - 86_400_000,
    approvedBy: "operator:ann",
    differences: [
      { part: "description", before: "Writes a file of the project.", after: "Writes a file." },
      {
        part: "schema",
        before: JSON.stringify({ type: "object", required: ["path", "text"] }, null, 2),
        after: JSON.stringify({ type: "object", required: ["path", "lines"] }, null, 2)
      }
    ]
  }
})

const activityAt = (second: number): PageEvent => ({
  _tag: "Activity",
  at: startTime - second * 1_000,
  offices: [
    { ...team, node: "n1", calls: 8 + ((second * 7) % 13), failed: second % 17 === 0 ? 2 : 0 },
    ...(second % 3 === 0 ? [{ ...lab, node: "n2", calls: 1 + (second % 5), failed: 0 }] : [])
  ]
})

/** The events after the snapshot of a busy Server. */
const busyEvents: ReadonlyArray<PageEvent> = [
  { _tag: "Inspected", ...team, computer: "desk", inspection },
  ...Array.from({ length: 58 }, (_, index) => activityAt(58 - index)),
  {
    _tag: "Rejected",
    node: "n1",
    at: startTime - 65_000,
    what: "connection",
    code: 401,
    reason: "missing_credentials",
    remoteAddress: "203.0.113.7"
  },
  {
    _tag: "Rejected",
    node: "n2",
    at: startTime - 12_000,
    what: "request",
    code: 4104,
    reason: "rate limit of 200 requests per second exceeded",
    subject: "brain-key",
    remoteAddress: "10.0.0.12"
  },
  { _tag: "Rejected", node: "n1", at: startTime - 3_000, what: "join", reason: "the office has an Agent", subject: "x" }
]

/** Prepares a Server with offices, nodes, calls in all phases, and replies to all requests. */
export const prepareBusyServer = (server: ScriptedServer): void => {
  server.snapshot = makeSnapshot({
    members: [
      agent,
      makeMember(),
      makeMember({ sid: "sid-printer", name: "printer-room", subject: "facility", joinedAt: startTime - 90_000_000 }),
      makeMember({
        sid: "sid-gpu",
        name: "gpu-box",
        node: "n2",
        subject: "",
        features: { inspection: false, operatorCalls: false, approvals: false }
      }),
      ...Array.from({ length: 4 }, (_, index) =>
        makeMember({ ...lab, sid: `sid-lab-${index}`, name: `bench-${index + 1}`, version: "0.4.1" })
      ),
      makeMember({ ...team, office: "night-shift", sid: "sid-night", name: "watcher" })
    ],
    calls: [...endedCalls, ...runningCalls],
    nodes: [
      makeNode(),
      makeNode({
        node: "n2",
        state: "draining",
        reason: "requested by ops",
        components: { registry: { ok: true }, nodelink: { ok: false, error: "connect ECONNREFUSED 10.0.0.9:6379" } },
        callsPerSecond: 3,
        latency: { p50: 12, p90: 48, p99: 1_310 }
      })
    ]
  })
  server.firstEvents = busyEvents
  server.replies.GetTools = ({ computer }) => ({
    tools: computer === "desk" ? tools : tools.slice(2, 5),
    startingServers: computer === "printer-room" ? ["weather"] : []
  })
  server.replies.GetDesktop = ({ computer }) => ({
    desktops:
      computer === "desk"
        ? [`window://notes/report?fullscreen=true&priority=80\n\n${report}`, "window://tracker/board\n\n3 open issues"]
        : []
  })
  server.replies.SendMcpRequest = () => ({
    result: {
      servers: [
        {
          id: "tracker",
          completions: true,
          prompts: [
            {
              name: "review",
              title: "Review of an issue",
              description: "Asks for a review of an issue of the tracker.",
              arguments: [
                { name: "issue", description: "its number", required: true },
                { name: "focus", description: "what matters most" }
              ]
            },
            { name: "weekly_report", description: "Sums up the issues of a week." }
          ]
        }
      ]
    }
  })
  server.replies.FindDocuments = ({ computer, offset }) =>
    computer === "desk"
      ? { documents: documents.map((one) => ({ ...one, docRef: `${one.docRef} ${offset}` })), totalCount: 64 }
      : { documents: [], totalCount: 0 }
  server.replies.GetDocument = () => ({ mimeType: "text/markdown", text: report, isTruncated: true })
  server.replies.GetApproval = () => approval
  server.replies.GetCallBody = () => ({
    params: JSON.stringify({ path: "src/index.ts", lines: [1, 40] }, null, 2),
    result: JSON.stringify({ content: [{ type: "text", text: "import { run } from './run.ts'" }] }, null, 2)
  })
}
