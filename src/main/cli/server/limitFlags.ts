import { Duration, Record, UndefinedOr } from "effect"
import type { Flag } from "effect/cli"
import { type MemoryLimits, memoryShares } from "../../../adapters/process/memoryLimits.ts"
import { type LimitRow, type Limits, limitRows, memoryLimitRows } from "../../../application/server/Limits.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { between, envVariableOf, setting } from "../flags/setting.ts"

type FixedLimits = Omit<Limits, keyof MemoryLimits>

type LimitSettings = { readonly [L in keyof FixedLimits]: number } & {
  readonly [L in keyof MemoryLimits]: number | undefined
}

const toLimit = (number: number | undefined, { metavar }: LimitRow): number | Duration.Duration | undefined => {
  const limit = number === 0 ? Number.POSITIVE_INFINITY : number
  return metavar === "SECONDS" ? UndefinedOr.map(limit, Duration.seconds) : limit
}

/** The limits that operators have set, and the defaults of those that do not depend on the memory. */
export const toLimits = (settings: LimitSettings) => {
  const rows: { readonly [L in keyof Limits]: LimitRow } = { ...limitRows, ...memoryLimitRows }
  const limits = Record.map(settings, (number: number | undefined, name) => toLimit(number, rows[name]))
  return definedOnly(limits) as FixedLimits & Partial<MemoryLimits>
}

/** A default as operators set limits; the inverse of `toLimits`. */
const defaultOf = ({ byDefault }: LimitRow): number => {
  const number = Duration.isDuration(byDefault) ? Duration.toSeconds(byDefault) : byDefault
  return number === Number.POSITIVE_INFINITY ? 0 : number
}

const helpOf = ({ help, min }: LimitRow): string => (min === 0 ? `${help}, 0 for no limit` : help)

const rowOf = ({ max, metavar, min }: LimitRow) => {
  const [accepts, expected] = between(min, max)
  return { metavar, check: [accepts, min === 0 ? `a number up to ${max}, or 0 for no limit` : expected] } as const
}

const shareOf = (name: keyof MemoryLimits): string => `1/${memoryShares[name]} of the memory`

export const limitFlags = {
  ...Record.map(
    limitRows,
    (row: LimitRow): Flag.Flag<number> => setting.int(row.flag, helpOf(row), { ...rowOf(row), default: defaultOf(row) })
  ),
  ...Record.map(
    memoryLimitRows,
    (row, name): Flag.Flag<number | undefined> =>
      setting.int(row.flag, helpOf(row), { ...rowOf(row), shown: shareOf(name) })
  )
}

const tableRow = (...cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const limitTableRow = ({ consequence, flag, help, metavar }: LimitRow, defaultText: string): string =>
  tableRow(help, `\`--${flag} ${metavar}\``, `\`${envVariableOf(flag)}\``, defaultText, consequence)

/** A test compares docs/limits.md with it. */
export const limitsTable: string = [
  tableRow("limit", "flag", "variable", "default", "beyond it"),
  tableRow("---", "---", "---", "---", "---"),
  ...Object.values<LimitRow>(limitRows).map((row) =>
    limitTableRow(row, defaultOf(row) === 0 ? "0, none" : String(defaultOf(row)))
  ),
  ...Record.toEntries(memoryLimitRows).map(([name, row]) => limitTableRow(row, shareOf(name)))
].join("\n")
