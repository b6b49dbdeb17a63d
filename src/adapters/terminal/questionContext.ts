import { clearScreenDown, cursorTo, moveCursor } from "node:readline"
import { makePaint } from "../log/colours.ts"
import { type Field, foreignFields } from "./foreignFields.ts"

/** The dimensions of a stream that is a terminal. */
export interface TerminalOutput {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

type TerminalSize = Required<Omit<TerminalOutput, "isTTY">>

/** The lines above a question for a terminal of this size. They are drawn again with the question. */
export type Context = (size: TerminalSize) => ReadonlyArray<string>

/** Between 20 and 120 columns, and 80 columns and 24 rows on a terminal that reports none, or 0. */
const sizeOf = ({ columns = 0, rows = 0 }: TerminalOutput): TerminalSize => ({
  columns: columns === 0 ? 80 : Math.max(20, Math.min(columns, 120)),
  rows: rows === 0 ? 24 : rows
})

/** Gives the lines of a context for the current size of a terminal, made again only when the size has changed. */
export const makeContextLines = (context: Context | undefined, output: TerminalOutput) => {
  let last: { readonly size: TerminalSize; readonly lines: ReadonlyArray<string> } | undefined
  return (): ReadonlyArray<string> => {
    if (context === undefined) return []
    const size = sizeOf(output)
    if (last?.size.columns !== size.columns || last.size.rows !== size.rows) {
      const [title = "", ...lines] = context(size)
      last = { size, lines: [makePaint(output)("bold", title), ...lines] }
    }
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

/** Maximum lines of a description or a default. */
export const maxTextLines = 3

/** Maximum attempts at a value: a terminal that is fed by a program must not loop forever. */
export const maxAttempts = 3

/** The texts of a choice, and what they are called where that differs. */
interface Choices {
  readonly texts: ReadonlyArray<string>
  readonly labels?: ReadonlyArray<string | undefined> | undefined
}

/** The lines of fields, and of at most `max` numbered choices; counts the others as `kind`. */
export const fieldsWithChoices = (
  fields: ReadonlyArray<Field>,
  { labels = [], texts }: Choices,
  { columns, kind, max }: { readonly columns: number; readonly kind: string; readonly max: number }
): ReadonlyArray<string> => {
  const choices = texts.slice(0, Math.max(1, max)).map((text, index): Field => {
    const label = labels[index] ?? text
    return { label: `${index + 1})`, value: label === text ? text : `${text} (${label})` }
  })
  const omitted = texts.length - choices.length
  return [...foreignFields([...fields, ...choices], columns), ...(omitted > 0 ? [`(${omitted} more ${kind})`] : [])]
}

/** The position of the choice with the entered text, else with this label, else with this number. */
export const findChoice = (entered: string, { labels = [], texts }: Choices): number | undefined => {
  const word = entered.trim()
  const found = [texts, labels].map((list) => list.findIndex((one) => one?.trim() === word))
  const number = /^\d{1,9}$/.test(word) ? Number(word) - 1 : -1
  return [...found, number].find((index) => index >= 0 && index < texts.length)
}
