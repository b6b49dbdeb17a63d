import type { ServerKind } from "../kinds.ts"
import type { Summary } from "../rounds.ts"
import type { Client } from "../Site.ts"

/** How a case is run. */
export interface Setting {
  /** What all ratios are divided by. */
  readonly reference: ServerKind
  /** The server that is judged. */
  readonly subject: ServerKind
  /** Measured beside them, for comparison. */
  readonly others: ReadonlyArray<ServerKind>
  readonly client: Client
  readonly rounds: number
  /** Shorter windows and warm-ups: enough to see that everything works, too little to judge. */
  readonly quick: boolean
  readonly note: (progress: string) => void
}

/** What the subject is meant to reach. */
export interface Target {
  readonly of: "ratio" | "value"
  readonly is: "at most" | "at least"
  readonly bound: number
}

/** One thing that a case has measured. */
export interface Row {
  readonly case: string
  readonly measure: string
  readonly unit: string
  readonly summary: Summary
  readonly target?: Target
}

/** Something to measure about relays. */
export interface Case {
  readonly name: string
  readonly about: string
  /** Left out unless it is asked for by name, when there is little time. */
  readonly long?: boolean
  readonly run: (setting: Setting) => Promise<ReadonlyArray<Row>>
  /** Writes down where the subject's CPU time goes, in a file of this name without its ending. */
  readonly profile?: (setting: Setting, file: string) => Promise<void>
}

/** The subject's median divided by the reference's shall be at most this. */
export const ratioAtMost = (bound: number): Target => ({ of: "ratio", is: "at most", bound })

/** The subject's median divided by the reference's shall be at least this. */
export const ratioAtLeast = (bound: number): Target => ({ of: "ratio", is: "at least", bound })

/** Whether a target is met; `undefined` where there is none. */
export const isMet = ({ summary, target }: Row, subject: string): boolean | undefined => {
  if (target === undefined) return undefined
  const reached = (target.of === "ratio" ? summary.ratios : summary.values)[subject] ?? Number.NaN
  return target.is === "at most" ? reached <= target.bound : reached >= target.bound
}

/** All kinds of a setting, the reference first. */
export const kindsOf = ({ others, reference, subject }: Setting): ReadonlyArray<ServerKind> => [
  reference,
  subject,
  ...others
]
