import type { ApprovalView } from "../../../src/domain/approvals/ApprovalView.ts"
import type { Tool } from "../../../src/domain/model/Tool.ts"
import type { Inspection } from "../../../src/domain/page/Inspection.ts"
import type { PageSession } from "../../../src/domain/page/PageCommand.ts"
import type {
  PageBatch,
  PageCall,
  PageEvent,
  PageMember,
  PageNode,
  PageSnapshot
} from "../../../src/domain/page/PageEvent.ts"
import type { SnapshotParts } from "./snapshotParts.ts"

/** The time of the Server at the first message, in milliseconds of the epoch. */
export const startTime = 1_800_000_000_000

export const team = { line: "0.2", office: "team" }

export const makeSession = (changes: Partial<PageSession> = {}): PageSession => ({
  subject: "ops",
  csrf: "token-of-the-session",
  requiresSignIn: true,
  mayCall: true,
  hasBodies: true,
  ...changes
})

export const makeMember = (changes: Partial<PageMember> = {}): PageMember => ({
  ...team,
  sid: "sid-desk",
  node: "n1",
  role: "computer",
  name: "desk",
  subject: "desk-key",
  version: "0.2.0",
  joinedAt: startTime - 60_000,
  features: { inspection: true, operatorCalls: true, approvals: true },
  ...changes
})

export const makeCall = (changes: Partial<PageCall> = {}): PageCall => ({
  ...team,
  id: "call-1",
  node: "n1",
  agent: "brain",
  subject: "brain-key",
  computer: "desk",
  event: "client:tool_call",
  tool: "echo",
  reqId: "req-1",
  startedAt: startTime - 1_000,
  ...changes
})

/** A call that waits for an approval. */
export const makeWaitingCall = (
  changes: Partial<PageCall> = {},
  approvalId = "approval-1",
  isQuestion = false
): PageCall => {
  const call = makeCall({ tool: "write_file", ...changes })
  const { computer, tool = "" } = call
  const approval = {
    id: approvalId,
    server: "files",
    tool,
    waitSeconds: 300,
    ...(isQuestion && { isQuestion: true as const })
  }
  return { ...call, status: { _tag: "WaitingForConsent", computer, approval } }
}

export const makeApproval = (changes: Partial<ApprovalView> = {}): ApprovalView => ({
  id: "approval-1",
  computer: "desk",
  server: "files",
  tool: "write_file",
  requester: "brain",
  arguments: JSON.stringify({ path: "notes.txt", text: "hello" }, null, 2),
  argumentsDigest: "5f2b51ca2fdc5baa31ec02e002f69aec",
  askedBy: "rule 3",
  requestedAt: startTime - 1_000,
  expiresIn: 240_000,
  state: "open",
  ...changes
})

export const makeNode = (changes: Partial<PageNode> = {}): PageNode => ({
  node: "n1",
  version: "0.1.0",
  lines: ["0.2", "0.4"],
  state: "ready",
  components: { registry: { ok: true } },
  startedAt: startTime - 3_600_000,
  connections: 3,
  callsInFlight: 1,
  callsPerSecond: 12,
  latency: { p50: 3, p90: 8, p99: 21 },
  memoryBytes: 96 * 1024 * 1024,
  ...changes
})

export const agent = makeMember({
  sid: "sid-brain",
  role: "agent",
  name: "brain",
  subject: "brain-key",
  features: { inspection: false, operatorCalls: false, approvals: false }
})

export type SnapshotChanges = Partial<SnapshotParts & Pick<PageSnapshot, "stream" | "at" | "omittedMembers">>

export const makeSnapshot = ({
  calls = [],
  members = [makeMember(), agent],
  nodes = [makeNode()],
  ...changes
}: SnapshotChanges = {}): PageSnapshot => ({
  stream: "stream-1",
  at: startTime,
  events: [
    ...nodes.map((node): PageEvent => ({ _tag: "Node", node })),
    ...members.map((member): PageEvent => ({ _tag: "Entered", member })),
    ...calls.map((call): PageEvent => ({ _tag: "Call", call }))
  ],
  omittedMembers: 0,
  omittedCalls: 0,
  droppedEvents: 0,
  ...changes
})

export const makeBatch = (events: ReadonlyArray<PageEvent>, changes: Partial<PageBatch> = {}): PageBatch => ({
  at: startTime + 1_000,
  events,
  omittedCalls: 0,
  droppedEvents: 0,
  ...changes
})

export const makeTool = (changes: Partial<Tool> = {}): Tool => ({
  name: "echo",
  description: "Gives the message back.",
  paramsSchema: {
    type: "object",
    properties: {
      message: { type: "string", description: "the text" },
      times: { type: "integer", default: 1 }
    },
    required: ["message"]
  },
  returnSchema: null,
  meta: { MCP_TOOL_ANNOTATION: JSON.stringify({ readOnlyHint: true }) },
  ...changes
})

const hour = 3_600_000

/** MCP servers with states whose durations the page shows in hours: seconds would depend on how soon it draws them. */
export const makeInspection = (changes: Partial<Inspection> = {}): Inspection => ({
  servers: [
    { name: "notes", state: "ready", since: startTime - 77.5 * hour, restarts: 0, tools: 2, windows: 1 },
    {
      name: "files",
      state: "failing",
      reason: "exit code 1",
      since: startTime - 55.5 * hour,
      restarts: 4,
      tools: 0,
      windows: 0,
      stderr: ["cannot open /data", "giving up"]
    }
  ],
  consent: [{ tool: "echo", rule: "needs consent" }],
  parts: [{ kind: "device", name: "lamp", state: "connected", offers: ["switch"] }],
  ...changes
})
