import { dirname } from "node:path"

/** A mutant after its run. */
export interface Mutant {
  readonly file: string
  readonly line: number
  readonly operator: string
  readonly original: string
  readonly mutated: string
  readonly outcome: "killed" | "timeout" | "survived" | "uncovered" | "ignored" | "error"
}

/** Numbers of mutants by outcome. */
type Counts = Readonly<Record<Mutant["outcome"], number>>

const outcomes = ["killed", "timeout", "survived", "uncovered", "ignored", "error"] as const

const countsOf = (mutants: ReadonlyArray<Mutant>): Counts =>
  Object.fromEntries(
    outcomes.map((outcome) => [outcome, mutants.filter((mutant) => mutant.outcome === outcome).length])
  ) as Counts

/** The percentage of the mutants that a test noticed. Ignored mutants and mutants that do not run do not count. */
export const scoreOf = (mutants: ReadonlyArray<Mutant>): number => {
  const { killed, survived, timeout, uncovered } = countsOf(mutants)
  const found = killed + timeout
  const all = found + survived + uncovered
  return all === 0 ? 100 : (100 * found) / all
}

const row = (title: string, mutants: ReadonlyArray<Mutant>): ReadonlyArray<string> => {
  const counts = countsOf(mutants)
  return [title, ...outcomes.map((outcome) => String(counts[outcome])), scoreOf(mutants).toFixed(1)]
}

/** One row per folder, and the total. */
export const table = (mutants: ReadonlyArray<Mutant>): string => {
  const folders = Map.groupBy(mutants, ({ file }) => dirname(file))
  const rows = [
    ["folder", ...outcomes, "score"],
    ...[...folders].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([name, part]) => row(name, part)),
    row("all", mutants)
  ]
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0))) ?? []
  return rows
    .map((cells) =>
      cells
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join("  ")
    )
    .join("\n")
}

const maxTextLength = 100

const inOneLine = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim()
  return line.length > maxTextLength ? `${line.slice(0, maxTextLength)}…` : line
}

/** The mutants that no test noticed, one per line. */
export const survivors = (mutants: ReadonlyArray<Mutant>): ReadonlyArray<string> =>
  mutants
    .filter(({ outcome }) => outcome === "survived" || outcome === "uncovered")
    .toSorted((one, other) => (one.file === other.file ? one.line - other.line : one.file < other.file ? -1 : 1))
    .map(
      ({ file, line, mutated, operator, original, outcome }) =>
        `${file}:${line} ${operator} ${inOneLine(original)} → ${inOneLine(mutated)}${outcome === "uncovered" ? " (no test reaches it)" : ""}`
    )
