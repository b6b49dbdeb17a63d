import { isMet, type Row, type Target } from "./cases/Case.ts"

/** The servers of a table: those with values, and those with ratios. */
export interface Columns {
  readonly reference: string
  readonly subject: string
  readonly others: ReadonlyArray<string>
}

/** Formats with three significant digits, but keeps all digits before the point. */
export const formatNumber = (value: number | undefined): string => {
  if (value === undefined || !Number.isFinite(value)) return "-"
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.01))))
  return value.toFixed(Math.min(digits, 2))
}

const targetText = (target: Target | undefined): string => {
  if (target === undefined) return ""
  return `${target.is === "at most" ? "<=" : ">="} ${target.bound.toFixed(2)}`
}

const metText = (met: boolean | undefined): string => {
  if (met === undefined) return ""
  return met ? "yes" : "NO"
}

const ratio = (of: string, to: string) => `${of}/${to}`

/** Aligns words left and numbers right. */
const words = 3

const lines = (table: ReadonlyArray<ReadonlyArray<string>>): string => {
  const width = (column: number) => Math.max(...table.map((cells) => cells[column]?.length ?? 0))
  return table
    .map((cells) =>
      cells
        .map((cell, column) => (column < words ? cell.padEnd(width(column)) : cell.padStart(width(column))))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

/** Results for people: medians of the reference and the subject, and ratios of rounds. */
export const formatTable = (rows: ReadonlyArray<Row>, { others, reference, subject }: Columns): string => {
  const head = [
    "case",
    "measure",
    "unit",
    reference,
    subject,
    ratio(subject, reference),
    ...others.map((other) => ratio(other, reference)),
    "target",
    "met",
    "rounds"
  ]
  const body = rows.map((row) => [
    row.case,
    row.measure,
    row.unit,
    formatNumber(row.summary.values[reference]),
    formatNumber(row.summary.values[subject]),
    formatNumber(row.summary.ratios[subject]),
    ...others.map((other) => formatNumber(row.summary.ratios[other])),
    targetText(row.target),
    metText(isMet(row, subject)),
    `${row.summary.counted}/${row.summary.rounds}`
  ])
  return `${lines([head, ...body])}\n`
}

/** Results as JSON: the values of the table, unrounded. */
export const spellJson = (rows: ReadonlyArray<Row>, columns: Columns, about: object): string => {
  const judged = rows.map(({ summary, ...row }) => {
    const met = isMet({ summary, ...row }, columns.subject)
    return { ...row, ...summary, ...(met !== undefined && { met }) }
  })
  return `${JSON.stringify({ ...about, ...columns, rows: judged }, undefined, 2)}\n`
}
