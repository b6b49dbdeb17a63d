import type { ServerKind } from "../kinds.ts"
import type { Summary } from "../rounds.ts"
import type { Client } from "../Site.ts"
import { median } from "../statistics.ts"

/** Settings of a case. */
export interface Setting {
  /** The divisor of all ratios. */
  readonly reference: ServerKind
  /** The server under test. */
  readonly subject: ServerKind
  /** The same server in a program that knows orders: to collect its garbage, to take its profile. */
  readonly library: ServerKind
  /** Further servers for comparison. */
  readonly others: ReadonlyArray<ServerKind>
  readonly client: Client
  readonly rounds: number
  /** Shortens windows and warm-ups: a smoke test, not a measurement. */
  readonly quick: boolean
  /** Lets servers run a third of the time in closed loops, so that slow clients saturate them. */
  readonly slowServers: boolean
  readonly note: (progress: string) => void
}

/** The target of a result. */
export interface Target {
  readonly of: "ratio" | "value"
  readonly is: "at most" | "at least"
  readonly bound: number
}

/** One result of a case. */
export interface Row {
  readonly case: string
  readonly measure: string
  readonly unit: string
  readonly summary: Summary
  readonly target?: Target
}

/** A measurement of relays. */
export interface Case {
  readonly name: string
  readonly about: string
  /** Skipped with `--quick` unless requested by name. */
  readonly long?: boolean
  readonly run: (setting: Setting) => Promise<ReadonlyArray<Row>>
  /** Writes a CPU profile of the subject to a file of this name without extension. */
  readonly profile?: (setting: Setting, file: string) => Promise<void>
}

/** Upper bound of the subject's median divided by the reference's. */
export const ratioAtMost = (bound: number): Target => ({ of: "ratio", is: "at most", bound })

/** Lower bound of the subject's median divided by the reference's. */
export const ratioAtLeast = (bound: number): Target => ({ of: "ratio", is: "at least", bound })

/** Upper bound of the subject's median. */
export const valueAtMost = (bound: number): Target => ({ of: "value", is: "at most", bound })

/** The summary of a result that only one kind has: the median of its rounds. */
export const summaryOf = (kind: string, values: ReadonlyArray<number>): Summary => ({
  values: { [kind]: median(values) },
  ratios: {},
  counted: values.length,
  rounds: values.length
})

/** True when a target is met; `undefined` without a target. */
export const isMet = ({ summary, target }: Row, subject: string): boolean | undefined => {
  if (target === undefined) return undefined
  const reached = (target.of === "ratio" ? summary.ratios : summary.values)[subject] ?? Number.NaN
  return target.is === "at most" ? reached <= target.bound : reached >= target.bound
}

/** All kinds of servers, the reference first. */
export const kindsOf = ({ others, reference, subject }: Setting): ReadonlyArray<ServerKind> => [
  reference,
  subject,
  ...others
]
