import { Duration, Record } from "effect"
import { memoryShares } from "../../../../src/adapters/process/memoryLimits.ts"
import { type LimitRow, limitRows, memoryLimitRows } from "../../../../src/application/server/Limits.ts"
import { envVariableOf } from "../../../../src/main/cli/flags/setting.ts"

const tableRow = (...cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const limitTableRow = ({ consequence, flag, help, metavar }: LimitRow, defaultText: string): string =>
  tableRow(help, `\`--${flag} ${metavar}\``, `\`${envVariableOf(flag)}\``, defaultText, consequence)

const formatDefault = ({ byDefault }: LimitRow): string => {
  const number = Duration.isDuration(byDefault) ? Duration.toSeconds(byDefault) : byDefault
  return number === Number.POSITIVE_INFINITY ? "0, none" : String(number)
}

/** The table of docs/limits.md. */
export const limitsTable: string = [
  tableRow("limit", "flag", "variable", "default", "beyond it"),
  tableRow("---", "---", "---", "---", "---"),
  ...Object.values<LimitRow>(limitRows).map((row) => limitTableRow(row, formatDefault(row))),
  ...Record.toEntries(memoryLimitRows).map(([name, row]) => limitTableRow(row, `1/${memoryShares[name]} of the memory`))
].join("\n")
