import type { ChaosReport, Recovery } from "./chaos.ts"
import type { Tally } from "./Ledger.ts"
import { outageProblems, rateOf } from "./outages.ts"

/** Findings of one run, or of several runs. */
export type Findings = Pick<ChaosReport, "tally" | "faults" | "recoveries" | "outages" | "dead">

/** Violations, with the affected calls. */
const faultless = [
  ["lost", "lost: not ended in time", ({ lost }: Tally) => lost],
  ["wrong", "ended without a protocol error", ({ broken }: Tally) => broken],
  ["wrong", "wrong result", ({ wrong }: Tally) => wrong],
  ["double", "ended or acknowledged twice", ({ twice }: Tally) => twice],
  ["double", "executed twice", ({ executedTwice }: Tally) => executedTwice],
  ["wrong", "executed by another Computer", ({ misplaced }: Tally) => misplaced]
] as const

/** Maximum examples of each violation. */
const maxExamples = 5

/** All errors of a run; empty when it is fine. */
export const problemsOf = ({ dead, outages, tally }: Findings): ReadonlyArray<string> => [
  ...faultless.flatMap(([, what, of]) => {
    const those = of(tally)
    return those.length === 0 ? [] : [`${those.length} ${what}: ${those.slice(0, maxExamples).join(", ")}`]
  }),
  ...outages.flatMap(outageProblems),
  ...dead.map((pair) => `${pair} did not recover after all faults`)
]

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, one) => total + one, 0)

/** Counts names. */
const sumByName = (counts: ReadonlyArray<{ readonly [name: string]: number }>) => {
  const total = new Map<string, number>()
  for (const [name, count] of counts.flatMap(Object.entries)) total.set(name, (total.get(name) ?? 0) + count)
  return Object.fromEntries([...total].toSorted(([, one], [, other]) => other - one))
}

/** Merges the findings of several runs. */
export const togetherOf = (those: ReadonlyArray<Findings>): Findings => {
  const tallies = those.map(({ tally }) => tally)
  return {
    tally: {
      started: sum(tallies.map(({ started }) => started)),
      answered: sum(tallies.map(({ answered }) => answered)),
      failed: sumByName(tallies.map(({ failed }) => failed)),
      abandoned: sum(tallies.map(({ abandoned }) => abandoned)),
      lost: tallies.flatMap(({ lost }) => lost),
      broken: tallies.flatMap(({ broken }) => broken),
      wrong: tallies.flatMap(({ wrong }) => wrong),
      twice: tallies.flatMap(({ twice }) => twice),
      executed: sum(tallies.map(({ executed }) => executed)),
      executedTwice: tallies.flatMap(({ executedTwice }) => executedTwice),
      misplaced: tallies.flatMap(({ misplaced }) => misplaced)
    },
    faults: sumByName(those.map(({ faults }) => faults)),
    recoveries: those.flatMap(({ recoveries }) => recoveries),
    outages: those.flatMap(({ outages }) => outages),
    dead: those.flatMap(({ dead }) => dead)
  }
}

/** Numbers for the comparison of runs. */
export interface Figures {
  readonly calls: number
  readonly answered: number
  /** Calls that ended with a protocol error. */
  readonly errors: number
  readonly abandoned: number
  readonly lost: number
  readonly double: number
  readonly wrong: number
  /** Pairs that did not recover. */
  readonly dead: number
  /** Seconds of the slowest recovery; undefined without faults. */
  readonly worst: number | undefined
}

const secondsOf = (recoveries: ReadonlyArray<Recovery>) =>
  recoveries.flatMap(({ millis }) => (millis === undefined ? [] : [millis / 1000]))

/** Summarizes a run. */
export const figuresOf = ({ dead, recoveries, tally }: Findings): Figures => {
  const faults = (column: (typeof faultless)[number][0]) =>
    sum(faultless.flatMap(([own, , of]) => (own === column ? [of(tally).length] : [])))
  return {
    calls: tally.started,
    answered: tally.answered,
    errors: sum(Object.values(tally.failed)),
    abandoned: tally.abandoned,
    lost: faults("lost"),
    double: faults("double"),
    wrong: faults("wrong"),
    dead: dead.length,
    worst: summaryOf(secondsOf(recoveries)).worst
  }
}

/** Median and maximum; undefined without times. */
const summaryOf = (times: ReadonlyArray<number>) => {
  const sorted = times.toSorted((one, other) => one - other)
  return { median: sorted[sorted.length >> 1], worst: sorted.at(-1) }
}

/** Recovery times by kind of fault, in seconds. */
export const recoveryOf = ({ faults, recoveries }: Findings) => {
  const byKind = Map.groupBy(recoveries, ({ kind }) => kind)
  return Object.entries(faults)
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([kind, times]) => {
      const all: ReadonlyArray<Recovery> = byKind.get(kind) ?? []
      const alone = all.filter(({ disturbed }) => !disturbed)
      return {
        kind,
        times,
        recovered: secondsOf(all).length,
        never: all.filter(({ millis }) => millis === undefined).length,
        alone: summaryOf(secondsOf(alone)),
        all: summaryOf(secondsOf(all))
      }
    })
}

const number = (value: number | undefined) => (value === undefined ? "–" : value.toFixed(2)).padStart(9)

/** Calls by outcome and recoveries by kind of fault, as lines. */
export const tableOf = (findings: Findings): ReadonlyArray<string> => {
  const { tally } = findings
  const count = (what: string, value: number) => `${String(value).padStart(8)}  ${what}`
  const rows = recoveryOf(findings)
  const width = Math.max(...rows.map(({ kind }) => kind.length), 20)
  return [
    count("calls", tally.started),
    count("answered", tally.answered),
    ...Object.entries(tally.failed).map(([error, times]) => count(`failed: ${error}`, times)),
    count("abandoned: their Agent was killed", tally.abandoned),
    ...faultless.map(([, what, of]) => count(what, of(tally).length)),
    count("executions", tally.executed),
    count("outages whose logs and requests were checked", findings.outages.length),
    count("requests per second in the worst of them", Math.round(Math.max(0, ...findings.outages.map(rateOf)))),
    "",
    `${"seconds until a pair works again".padEnd(width)}   times    pairs   median    worst  worst, others besides`,
    ...rows.map(
      ({ all, alone, kind, recovered, times }) =>
        `${kind.padEnd(width)}${String(times).padStart(8)}${String(recovered).padStart(9)}` +
        `${number(alone.median)}${number(alone.worst)}${number(all.worst)}`
    )
  ]
}

/** The details of a run with violations. */
export const formatTable = (report: ChaosReport): string => {
  const { deaths, diagnosis, seconds, seed } = report
  return [
    `seed ${seed}, ${seconds} s`,
    "",
    ...tableOf(report),
    "",
    ...deaths,
    ...problemsOf(report),
    ...diagnosis
  ].join("\n")
}
