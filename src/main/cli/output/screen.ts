import { makePaint } from "../../../adapters/log/colours.ts"

/** A line that is wider is harder to read, also on a wide terminal. */
const maxTextColumns = 120
const minColumns = 20

/** The columns for text on stdout: those of its terminal, else of `COLUMNS`, else 80. */
export const textColumns = (): number => {
  const columns = process.stdout.columns || Number(process.env["COLUMNS"]) || 80
  return Math.max(minColumns, Math.min(columns, maxTextColumns))
}

/** The columns of a terminal. Programs that read a pipe need whole lines. */
const columnsOf = ({ columns, isTTY }: NodeJS.WriteStream): number =>
  isTTY ? Math.max(minColumns, columns || 80) : Number.POSITIVE_INFINITY

export const tableColumns = (): number => columnsOf(process.stdout)

export const errorColumns = (): number => columnsOf(process.stderr)

/** A terminal where text is drawn again; `undefined` where it cannot be. */
const redrawnTerminal = (stream: NodeJS.WriteStream) =>
  !stream.isTTY || process.env["TERM"] === "dumb"
    ? undefined
    : { write: (text: string) => stream.write(text), columns: Math.max(minColumns, (stream.columns || 80) - 1) }

/** The terminal of stderr, for a line that is drawn again. */
export const statusTerminal = () => redrawnTerminal(process.stderr)

/** The terminal of stdout, for a table that is drawn again. */
export const tableTerminal = () => {
  const { stdout } = process
  const terminal = redrawnTerminal(stdout)
  return (
    terminal && {
      ...terminal,
      rows: () => stdout.rows || 24,
      onResize: (listener: () => void) => {
        stdout.on("resize", listener)
        return () => void stdout.off("resize", listener)
      }
    }
  )
}

export const paintForOutput = () => makePaint(process.stdout)
