import { Result } from "effect"
import type { ChaosReport } from "./chaos.ts"
import { exitCodes } from "./command.ts"
import { type Figures, figuresOf, problemsOf, recoveryOf, tableOf, togetherOf } from "./report.ts"

/** A report of a seed, or the reason for its absence. */
export interface Run {
  readonly seed: number
  readonly found: Result.Result<ChaosReport, string>
}

const reportsOf = (runs: ReadonlyArray<Run>) =>
  runs.flatMap(({ found }) => (Result.isSuccess(found) ? [found.success] : []))

const wrongOnes = (runs: ReadonlyArray<Run>) => reportsOf(runs).filter((report) => problemsOf(report).length > 0)

/** The exit code. */
export const exitCodeOf = (runs: ReadonlyArray<Run>): number => {
  if (wrongOnes(runs).length > 0) return exitCodes.wrong
  return reportsOf(runs).length < runs.length ? exitCodes.notJudged : exitCodes.fine
}

const figuresLine = (figures: Figures) => {
  const { abandoned, answered, calls, dead, double, errors, lost, worst, wrong } = figures
  return [
    `${calls} calls: ${answered} answered, ${errors} ended with an error, ${abandoned} abandoned, ` +
      `${lost} lost, ${double} double, ${wrong} wrong`,
    ...(worst === undefined ? [] : [`the slowest pair worked again after ${worst.toFixed(1)} s`]),
    ...(dead === 0 ? [] : [`${dead} did not`])
  ].join("; ")
}

const verdicts = new Map<number, string>([
  [exitCodes.fine, "fine"],
  [exitCodes.wrong, "WRONG"],
  [exitCodes.notJudged, "NOT JUDGED"]
])

/** The result in one line. */
export const answerOf = (runs: ReadonlyArray<Run>): string => {
  const seeds = runs.length === 1 ? `seed ${runs[0]?.seed}` : `${runs.length} seeds`
  const failed = runs.length - reportsOf(runs).length
  return [
    `${verdicts.get(exitCodeOf(runs))}: ${seeds}, ${figuresLine(figuresOf(togetherOf(reportsOf(runs))))}`,
    ...(failed > 0 ? [`${failed} did not finish`] : []),
    ...(wrongOnes(runs).length > 0
      ? [
          `wrong with seed ${wrongOnes(runs)
            .map(({ seed }) => seed)
            .join(", ")}`
        ]
      : [])
  ].join("; ")
}

const columns = ["calls", "answered", "errors", "abandoned", "lost", "double", "wrong", "dead"] as const

const row = (first: string | number, cells: ReadonlyArray<string | number>) =>
  [String(first).padStart(9), ...cells.map((cell) => String(cell).padStart(10))].join("")

const figuresRow = (first: string | number, figures: Figures) =>
  row(first, [...columns.map((column) => figures[column]), figures.worst?.toFixed(2) ?? "–"])

/** A row for each seed and one for all. */
const seedTable = (runs: ReadonlyArray<Run>): ReadonlyArray<string> => [
  row("seed", [...columns, "worst, s"]),
  ...runs.map(({ found, seed }) =>
    Result.match(found, {
      onFailure: (reason) => `${String(seed).padStart(9)}  ${reason.split("\n")[0]}`,
      onSuccess: (report) => figuresRow(seed, figuresOf(report))
    })
  ),
  figuresRow("all", figuresOf(togetherOf(reportsOf(runs))))
]

/** Details of one seed. */
const remarksOn = ({ found, seed }: Run): ReadonlyArray<string> => {
  const remarks = Result.match(found, {
    onFailure: (reason) => [reason],
    onSuccess: (report) => [...report.deaths, ...problemsOf(report), ...report.diagnosis]
  })
  return remarks.length === 0 ? [] : [`seed ${seed}:`, ...remarks.map((line) => `  ${line}`), ""]
}

/** Formats a text report of one or several seeds; its last line is the result. */
export const formatRuns = (runs: ReadonlyArray<Run>): string =>
  [
    ...(runs.length > 1 ? [...seedTable(runs), ""] : []),
    ...tableOf(togetherOf(reportsOf(runs))),
    "",
    ...runs.flatMap(remarksOn),
    answerOf(runs),
    ""
  ].join("\n")

/** Formats a JSON report. */
export const formatRunsJson = (runs: ReadonlyArray<Run>): string => {
  const all = togetherOf(reportsOf(runs))
  return `${JSON.stringify({
    answer: answerOf(runs),
    figures: figuresOf(all),
    recovery: recoveryOf(all),
    runs: runs.map(({ found, seed }) =>
      Result.match(found, {
        onFailure: (failure) => ({ seed, failure }),
        onSuccess: (report) => ({
          seed,
          seconds: report.seconds,
          problems: problemsOf(report),
          figures: figuresOf(report),
          calls: report.tally,
          recovery: recoveryOf(report),
          dead: report.dead,
          deaths: report.deaths,
          diagnosis: report.diagnosis
        })
      })
    )
  })}\n`
}
