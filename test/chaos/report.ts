import type { ChaosReport, Recovery } from "./chaos.ts"
import type { Tally } from "./Ledger.ts"

/** What one run has found, or several together. */
export type Findings = Pick<ChaosReport, "tally" | "faults" | "recoveries" | "dead">

/** What must never happen, in short, and the calls to which it did. */
const faultless = [
  ["lost", "lost: no end in time", ({ lost }: Tally) => lost],
  ["wrong", "ended with no error of the protocol", ({ broken }: Tally) => broken],
  ["wrong", "answered wrongly", ({ wrong }: Tally) => wrong],
  ["double", "ended or acknowledged twice", ({ twice }: Tally) => twice],
  ["double", "executed twice", ({ executedTwice }: Tally) => executedTwice],
  ["wrong", "executed where nobody asked", ({ stray }: Tally) => stray]
] as const

/** How many examples of what must not happen are named. */
const maxExamples = 5

/** Everything that is wrong with a run; nothing when it is fine. */
export const problemsOf = ({ dead, tally }: Findings): ReadonlyArray<string> => [
  ...faultless.flatMap(([, what, of]) => {
    const those = of(tally)
    return those.length === 0 ? [] : [`${those.length} ${what}: ${those.slice(0, maxExamples).join(", ")}`]
  }),
  ...dead.map((pair) => `${pair} does not work again after all faults`)
]

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, one) => total + one, 0)

/** How often each name comes, all in all. */
const sumByName = (counts: ReadonlyArray<{ readonly [name: string]: number }>) => {
  const total = new Map<string, number>()
  for (const [name, count] of counts.flatMap(Object.entries)) total.set(name, (total.get(name) ?? 0) + count)
  return Object.fromEntries([...total].toSorted(([, one], [, other]) => other - one))
}

/** The findings of several runs together. */
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
      stray: tallies.flatMap(({ stray }) => stray)
    },
    faults: sumByName(those.map(({ faults }) => faults)),
    recoveries: those.flatMap(({ recoveries }) => recoveries),
    dead: those.flatMap(({ dead }) => dead)
  }
}

/** The numbers by which runs are compared. */
export interface Figures {
  readonly calls: number
  readonly answered: number
  /** Those that ended with an error that a program can tell from others. */
  readonly errors: number
  readonly abandoned: number
  readonly lost: number
  readonly double: number
  readonly wrong: number
  /** Pairs that did not work again. */
  readonly dead: number
  /** Seconds that the slowest pair took to work again; missing where nothing had gone wrong. */
  readonly worst: number | undefined
}

const secondsOf = (recoveries: ReadonlyArray<Recovery>) =>
  recoveries.flatMap(({ millis }) => (millis === undefined ? [] : [millis / 1000]))

/** What a run comes down to. */
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

/** Median and worst of some times; nothing where there are none. */
const summaryOf = (times: ReadonlyArray<number>) => {
  const sorted = times.toSorted((one, other) => one - other)
  return { median: sorted[sorted.length >> 1], worst: sorted.at(-1) }
}

/** The times to recover from each kind of fault, in seconds. */
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

/** Calls by what became of them, and recoveries by kinds of faults, in lines. */
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
    "",
    `${"seconds until a pair works again".padEnd(width)}   times    pairs   median    worst  worst, others besides`,
    ...rows.map(
      ({ all, alone, kind, recovered, times }) =>
        `${kind.padEnd(width)}${String(times).padStart(8)}${String(recovered).padStart(9)}` +
        `${number(alone.median)}${number(alone.worst)}${number(all.worst)}`
    )
  ]
}

/** All that a person wants to know of one run when something is wrong with it. */
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
