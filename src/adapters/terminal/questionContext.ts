import { clearScreenDown, cursorTo, moveCursor } from "node:readline"

/** The dimensions of a stream that is a terminal. */
export interface TerminalOutput {
  readonly columns?: number
  readonly rows?: number
}

interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/** The lines above a question for a terminal of this size. They are drawn again with the question. */
export type Context = (size: TerminalSize) => ReadonlyArray<string>

/** Between 20 and 120 columns, and 80 columns and 24 rows on a terminal that reports none, or 0. */
const sizeOf = ({ columns = 0, rows = 0 }: TerminalOutput): TerminalSize => ({
  columns: columns === 0 ? 80 : Math.max(20, Math.min(columns, 120)),
  rows: rows === 0 ? 24 : rows
})

/** Gives the lines of a context for the current size of a terminal, made again only when the size has changed. */
export const makeContextLines = (
  context: Context | undefined,
  output: TerminalOutput
): (() => ReadonlyArray<string>) => {
  let last: { readonly size: TerminalSize; readonly lines: ReadonlyArray<string> } | undefined
  return () => {
    if (context === undefined) return []
    const size = sizeOf(output)
    if (last?.size.columns !== size.columns || last.size.rows !== size.rows) last = { size, lines: context(size) }
    return last.lines
  }
}

export const joinLines = (lines: ReadonlyArray<string>): string => lines.map((line) => `${line}\n`).join("")

/** Clears the row of the cursor, this many rows above it, and everything below. */
export const clearRowsAbove = (output: NodeJS.WritableStream, rows: number): void => {
  moveCursor(output, 0, -rows)
  cursorTo(output, 0)
  clearScreenDown(output)
}
