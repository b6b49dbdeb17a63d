import type { Role } from "../../src/domain/model/Role.ts"

/** A call or a question of an Agent. Times are in milliseconds of virtual time. */
export interface Asked {
  readonly id: string
  readonly agent: string
  readonly office: string
  readonly computer: string
  readonly askedAt: number
  /** How long it may take at most before it has ended one way or another. */
  readonly atMost: number
  /** How long the tool works; `undefined` for what is no call. */
  readonly takes: number | undefined
  cancelledAt: number | undefined
  /** What came of it, each time that something came. */
  readonly ends: Array<{ readonly at: number; readonly outcome: string }>
  /** Nothing in the way of it was disturbed between its beginning and its end. */
  calm: boolean
}

/** One run of a tool. */
interface ToolRun {
  readonly id: string
  readonly computer: string
  /** The office that the call came from, by its own word, and that of the Computer then. */
  readonly from: string
  readonly at: string | undefined
  readonly beganAt: number
  endedAt: number | undefined
}

/** What a witness heard of somebody in its office. */
interface Told {
  readonly at: number
  readonly witness: string
  readonly office: string
  readonly what: "entered" | "left"
  readonly role: Role
  readonly name: string
}

/** What somebody heard about a Computer or an Agent that it must share an office with. */
interface Mention {
  readonly at: number
  readonly office: string
  readonly name: string
  readonly event: string
}

/** A time in which somebody sat in an office. */
interface Stay {
  readonly office: string
  readonly name: string
  readonly from: number
  to: number | undefined
}

/** How much happened in a run. */
export interface Counts {
  steps: number
  calls: number
  answered: number
  failed: number
  cancelled: number
  questions: number
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
  questions: 0,
  joins: 0,
  kills: 0,
  linkFaults: 0,
  nodeStops: 0,
  changes: 0
})

/** Everything that happened in a run, as far as rules speak of it. */
export interface History {
  readonly asked: Map<string, Asked>
  readonly runs: Array<ToolRun>
  readonly told: Array<Told>
  readonly mentions: Array<Mention>
  readonly stays: Array<Stay>
  readonly counts: Counts
}

export const makeHistory = (): History => ({
  asked: new Map(),
  runs: [],
  told: [],
  mentions: [],
  stays: [],
  counts: noCounts()
})
