import type { RemoteApprover } from "../../src/application/computer/ComputerSettings.ts"
import type { InputAnswer } from "../../src/domain/model/InputRequest.ts"
import type { Role } from "../../src/domain/model/Membership.ts"
import type { PlannedAnswer, ToolKind } from "./plan.ts"

/** A process of a program, which is one subject at the Servers, or an operator. Others may have the same name. */
export interface CallerProcess {
  readonly program: string
  /** Counts the processes of the program; 0 for an operator. */
  readonly visit: number
}

/** A tool call or another request of an Agent. Times are in milliseconds of virtual time. */
export interface TrackedRequest extends CallerProcess {
  readonly id: string
  /** The id of the call whose result it waits for: its own, or that of a task which another request started. */
  readonly call: string
  readonly agent: string
  readonly office: string
  readonly computer: string
  readonly sentAt: number
  /** Maximum duration until a result or an error. */
  readonly maxDuration: number
  /** The execution timeout of the tool. */
  readonly timeout: number
  /** Duration of the tool run; `undefined` for other requests. */
  readonly takes: number | undefined
  readonly tool: ToolKind | undefined
  /** Asks for a task with an invented id. */
  readonly isGuess: boolean
  /** The progress that the Agent received. */
  readonly progress: Array<{ readonly at: number; readonly progress: number }>
  cancelledAt: number | undefined
  /** All outcomes; a correct request has exactly one. */
  readonly ends: Array<{ readonly at: number; readonly outcome: string }>
  /** No fault disturbed the request between start and end. */
  undisturbed: boolean
}

/**
 * The oldest and the newest definition of a tool that its Computer may know, counted from 0. They differ for a short time
 * after a change: the Computer limits how often it lists tools.
 */
export type Revisions = readonly [number, number]

/** One run of a tool. */
interface ToolRun {
  readonly id: string
  readonly computer: string
  /** The office of the calling Agent, from the arguments, and the office of the Computer at that time. */
  readonly from: string
  readonly at: string | undefined
  readonly beganAt: number
  endedAt: number | undefined
  /** Missing for a tool that needs no consent. */
  readonly revisions: Revisions | undefined
  /** Who else may decide at its Computer. */
  readonly approvers: ReadonlyArray<RemoteApprover>
}

/** An answer of an approver. */
export interface TrackedAnswer {
  readonly at: number
  /** The approver as decisions name it. */
  readonly by: string
  readonly kind: PlannedAnswer["by"]
  /** Missing for the owner and the program of a Computer. */
  readonly caller: CallerProcess | undefined
  readonly allows: boolean
  /** The end of the grant that it gives, infinite without an end; `undefined` for an answer about one call. */
  readonly grantedUntil: number | undefined
  /** `unknown` without a reply, which is on its way or lost. The answer of a program is accepted by the audit. */
  outcome: "accepted" | "unknown" | number
  /** When the outcome was received, and a grant was stored. */
  settledAt: number | undefined
}

/** A task that an Agent started at the process of a Computer. */
interface TrackedTask {
  readonly id: string
  /** The id of its call. */
  readonly call: string
  readonly agent: string
  readonly office: string
  readonly computer: string
  /** The visit of the Computer in the office. */
  readonly visit: number
  readonly tool: ToolKind
  readonly takes: number
  /** The programs that know its id: the one that started it, and those to which it gave the id. */
  readonly holders: Set<string>
  /** The processes that have shown its id to the Computer. */
  readonly shown: Array<CallerProcess & { readonly at: number }>
}

/** An approval that a member or an operator has received. */
interface SeenApproval extends CallerProcess {
  readonly id: string
  readonly at: number
  /** The call whose arguments it shows as those of the last approved call. */
  readonly previousCall: string | undefined
}

/** The end of a process that its Server notices at once. */
interface Departure extends CallerProcess {
  readonly at: number
}

/** An answer that an MCP server received. */
interface ReceivedAnswer {
  readonly call: string
  readonly computer: string
  readonly answer: InputAnswer
}

/** An approval that a Computer has shown. */
export interface TrackedApproval {
  readonly id: string
  /** The id of the call. */
  readonly call: string
  /** The calling Agent. */
  readonly agent: string
  readonly office: string
  readonly computer: string
  readonly incarnation: number
  /** The question of an MCP server. */
  readonly isQuestion: boolean
  readonly revisions: Revisions
  /** Who else may decide at this process of the Computer. */
  readonly approvers: ReadonlyArray<RemoteApprover>
  /** No fault disturbed its Computer while it was open. */
  undisturbed: boolean
  readonly openedAt: number
  closedAt: number | undefined
  readonly answers: Array<TrackedAnswer>
}

/** A decision about a call in the audit of a Computer. */
interface AuditedDecision {
  readonly at: number
  readonly computer: string
  readonly incarnation: number
  readonly call: string
  readonly isQuestion: boolean
  readonly action: string
  readonly by: string | undefined
}

/** A membership notification that a witness received. */
interface Notified {
  readonly at: number
  readonly witness: string
  readonly office: string
  readonly what: "entered" | "left"
  readonly role: Role
  readonly name: string
}

/** A notification about a Computer or an Agent, which must be in the same office. */
interface Mention {
  readonly at: number
  readonly office: string
  readonly name: string
  readonly event: string
}

/** A period of membership. */
interface Stay {
  readonly office: string
  readonly name: string
  readonly from: number
  to: number | undefined
}

export const noCounts = () => ({
  steps: 0,
  calls: 0,
  answered: 0,
  failed: 0,
  cancelled: 0,
  queries: 0,
  joins: 0,
  kills: 0,
  linkFaults: 0,
  nodeStops: 0,
  changes: 0,
  approvals: 0,
  questions: 0,
  answers: 0,
  grants: 0,
  tasks: 0,
  fetches: 0,
  successions: 0,
  seen: 0
})

/** Event counts of a run. */
export type Counts = ReturnType<typeof noCounts>

/** The events of a run that the rules check. */
export interface History {
  readonly requests: Map<string, TrackedRequest>
  readonly runs: Array<ToolRun>
  readonly notified: Array<Notified>
  readonly mentions: Array<Mention>
  readonly stays: Array<Stay>
  /** By id, the oldest one first. */
  readonly approvals: Map<string, TrackedApproval>
  readonly decisions: Array<AuditedDecision>
  readonly received: Array<ReceivedAnswer>
  readonly tasks: Array<TrackedTask>
  /** When a grant was revoked, by its id. */
  readonly revocations: Map<string, number>
  readonly seen: Array<SeenApproval>
  readonly departures: Array<Departure>
  readonly counts: Counts
}

export const makeHistory = (): History => ({
  requests: new Map(),
  runs: [],
  notified: [],
  mentions: [],
  stays: [],
  approvals: new Map(),
  decisions: [],
  received: [],
  tasks: [],
  revocations: new Map(),
  seen: [],
  departures: [],
  counts: noCounts()
})
