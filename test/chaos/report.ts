import type { ChaosReport, Recovery } from "./chaos.ts"
import type { Tally } from "./Ledger.ts"

/** What must never happen, and the calls to which it did. */
const faultless = [
  ["lost: no end in time", ({ lost }: Tally) => lost],
  ["ended with no error of the protocol", ({ broken }: Tally) => broken],
  ["answered wrongly", ({ wrong }: Tally) => wrong],
  ["ended or acknowledged twice", ({ twice }: Tally) => twice],
  ["executed twice", ({ executedTwice }: Tally) => executedTwice],
  ["executed where nobody asked", ({ stray }: Tally) => stray]
] as const

/** How many examples of what must not happen are named. */
const mostExamples = 5

/** Everything that is wrong with a run; nothing when it is fine. */
export const problemsOf = ({ dead, tally }: ChaosReport): ReadonlyArray<string> => [
  ...faultless.flatMap(([what, of]) => {
    const those = of(tally)
    return those.length === 0 ? [] : [`${those.length} ${what}: ${those.slice(0, mostExamples).join(", ")}`]
  }),
  ...dead.map((pair) => `${pair} does not work again after all faults`)
]

/** Median and worst of some times; nothing where there are none. */
const summaryOf = (times: ReadonlyArray<number>) => {
  const sorted = times.toSorted((one, other) => one - other)
  return { median: sorted[sorted.length >> 1], worst: sorted.at(-1) }
}

/** The times to recover from one kind of fault, in seconds. */
const rowsOf = ({ faults, recoveries }: ChaosReport) => {
  const byKind = Map.groupBy(recoveries, ({ kind }) => kind)
  return Object.entries(faults)
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([kind, times]) => {
      const all: ReadonlyArray<Recovery> = byKind.get(kind) ?? []
      const secondsOf = (those: ReadonlyArray<Recovery>) =>
        those.flatMap(({ millis }) => (millis === undefined ? [] : [millis / 1000]))
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

/** A report for programs. */
export const spellJson = (report: ChaosReport): string => {
  const { dead, deaths, lastWords, seconds, seed, tally } = report
  const problems = problemsOf(report)
  const recovery = rowsOf(report)
  return `${JSON.stringify({ seed, seconds, problems, calls: tally, recovery, dead, deaths, lastWords })}\n`
}

const number = (value: number | undefined) => (value === undefined ? "–" : value.toFixed(2)).padStart(9)

/** A report for people. */
export const spellTable = (report: ChaosReport): string => {
  const { deaths, lastWords, seconds, seed, tally } = report
  const count = (what: string, value: number) => `${String(value).padStart(8)}  ${what}`
  const rows = rowsOf(report)
  const width = Math.max(...rows.map(({ kind }) => kind.length), 20)
  const problems = problemsOf(report)
  return [
    `seed ${seed}, ${seconds} s`,
    "",
    count("calls", tally.started),
    count("answered", tally.answered),
    ...Object.entries(tally.failed).map(([error, times]) => count(`failed: ${error}`, times)),
    count("abandoned: their Agent was killed", tally.abandoned),
    ...faultless.map(([what, of]) => count(what, of(tally).length)),
    count("executions", tally.executed),
    "",
    `${"seconds until a pair works again".padEnd(width)}   times    pairs   median    worst  worst, others besides`,
    ...rows.map(
      ({ all, alone, kind, recovered, times }) =>
        `${kind.padEnd(width)}${String(times).padStart(8)}${String(recovered).padStart(9)}` +
        `${number(alone.median)}${number(alone.worst)}${number(all.worst)}`
    ),
    "",
    ...deaths,
    ...lastWords,
    ...(problems.length === 0 ? ["nothing lost, nothing twice, everything works again"] : problems),
    ""
  ].join("\n")
}
