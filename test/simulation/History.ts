import type { Role } from "../../src/domain/model/Membership.ts"

/** A tool call or another request of an Agent. Times are in milliseconds of virtual time. */
export interface TrackedRequest {
  readonly id: string
  readonly agent: string
  readonly office: string
  readonly computer: string
  readonly sentAt: number
  /** Maximum duration until a result or an error. */
  readonly maxDuration: number
  /** Duration of the tool run; `undefined` for other requests. */
  readonly takes: number | undefined
  cancelledAt: number | undefined
  /** All outcomes; a correct request has exactly one. */
  readonly ends: Array<{ readonly at: number; readonly outcome: string }>
  /** No fault disturbed the request between start and end. */
  undisturbed: boolean
}

/** One run of a tool. */
interface ToolRun {
  readonly id: string
  readonly computer: string
  /** The office of the calling Agent, from the arguments, and the office of the Computer at that time. */
  readonly from: string
  readonly at: string | undefined
  readonly beganAt: number
  endedAt: number | undefined
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

/** Event counts of a run. */
export interface Counts {
  steps: number
  calls: number
  answered: number
  failed: number
  cancelled: number
  queries: number
  joins: number
  kills: number
  linkFaults: number
  nodeStops: number
  changes: number
}

export const noCounts = (): Counts => ({
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
  changes: 0
})

/** The events of a run that the rules check. */
export interface History {
  readonly asked: Map<string, TrackedRequest>
  readonly runs: Array<ToolRun>
  readonly notified: Array<Notified>
  readonly mentions: Array<Mention>
  readonly stays: Array<Stay>
  readonly counts: Counts
}

export const makeHistory = (): History => ({
  asked: new Map(),
  runs: [],
  notified: [],
  mentions: [],
  stays: [],
  counts: noCounts()
})
