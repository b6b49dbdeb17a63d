import { readFileSync, writeFileSync } from "node:fs"
import { Effect, Logger } from "effect"
import { curves } from "../growth/curves.ts"
import { curveTableHead, formatCurve, plotGrowth } from "../growth/formatCurves.ts"
import { measureCurves } from "../growth/measureCurves.ts"
import { isMet, type Row } from "./cases/Case.ts"
import { type Columns, formatNumber } from "./table.ts"

/** The document with the results, and the lines around each part of them. */
const file = new URL("../README.md", import.meta.url)
const begin = (part: string) => `<!-- ${part}: written by npm run bench -- --publish -->`
const end = (part: string) => `<!-- end of ${part} -->`

/** Cases with a plot of the CPU time of all servers. */
const plotted = ["1k", "64k", "1m"]

const cells = (values: ReadonlyArray<string>): string => `| ${values.join(" | ")} |`

const targetText = ({ target }: Row): string =>
  target === undefined ? "" : `${target.is === "at most" ? "≤" : "≥"} ${formatNumber(target.bound)}`

const metText = (row: Row, subject: string): string => {
  const met = isMet(row, subject)
  if (met === undefined) return ""
  return met ? "yes" : "**no**"
}

/** A table of all rows: ratios to the reference, and values where there is no ratio. */
const formatRows = (rows: ReadonlyArray<Row>, { others, reference, subject }: Columns): string => {
  const servers = [subject, ...others].filter((name) => rows.some(({ summary }) => name in summary.values))
  const of = ({ summary, target, unit }: Row, name: string): string => {
    const ratio = target?.of === "value" ? undefined : summary.ratios[name]
    if (ratio !== undefined && Number.isFinite(ratio)) return formatNumber(ratio)
    const value = summary.values[name]
    return value === undefined || !Number.isFinite(value) ? "" : `${formatNumber(value)} ${unit}`
  }
  return [
    cells(["case", "measure", "target", "met", ...servers.map((name) => `\`${name}\``), `\`${reference}\``]),
    cells(["---", "---", "---", "---", ...servers.map(() => "---:"), "---:"]),
    ...rows.map((row) => {
      const value = row.summary.values[reference]
      const absolute = value === undefined || !Number.isFinite(value) ? "" : `${formatNumber(value)} ${row.unit}`
      const names = [`\`${row.case}\``, row.measure, targetText(row), metText(row, subject)]
      return cells([...names, ...servers.map((name) => of(row, name)), absolute])
    })
  ].join("\n")
}

/** Bars of the CPU time of all servers in a case, as Mermaid. */
const plotCpu = (row: Row): string => {
  const ratios = Object.entries(row.summary.ratios).toSorted(([, one], [, other]) => one - other)
  return [
    "```mermaid",
    "xychart-beta",
    `  title "${row.case}: ${row.measure}, plain Socket.IO = 1"`,
    `  x-axis [${ratios.map(([name]) => name).join(", ")}]`,
    `  y-axis 0 --> ${Math.max(1, ...ratios.map(([, ratio]) => Math.ceil(ratio)))}`,
    `  bar [${ratios.map(([, ratio]) => ratio.toFixed(2)).join(", ")}]`,
    "```"
  ].join("\n")
}

const replacePart = (text: string, part: string, contents: string): string => {
  const from = text.indexOf(begin(part))
  const to = text.indexOf(end(part))
  if (from < 0 || to < from) throw new Error(`bench/README.md has no place for the ${part}`)
  return `${text.slice(0, from)}${begin(part)}\n\n${contents}\n\n${text.slice(to)}`
}

/** Where and when a run took place. */
interface About {
  readonly date: string
  readonly node: string
  readonly processor: string
  readonly rounds: number
}

/** Measures the growth of costs, and writes the tables and plots of a run to `bench/README.md`. */
export const publish = async (rows: ReadonlyArray<Row>, columns: Columns, about: About): Promise<void> => {
  const growth = await Effect.runPromise(
    Effect.provide(
      measureCurves(curves, () => undefined),
      Logger.layer([])
    )
  )
  const { date, node, processor, rounds } = about
  const run = `The run of ${date.slice(0, 10)}: ${processor}, Linux, Node ${node.slice(1)}, ${rounds} rounds of each case.`
  const plots = rows.filter(({ case: name, unit }) => plotted.includes(name) && unit === "us").map(plotCpu)
  const results = [run, formatRows(rows, columns), ...plots].join("\n\n")
  const table = [...curveTableHead, ...growth.map(formatCurve)].join("\n")
  const text = replacePart(readFileSync(file, "utf8"), "results", results)
  writeFileSync(file, replacePart(text, "growth", [table, plotGrowth(growth)].join("\n\n")))
}
