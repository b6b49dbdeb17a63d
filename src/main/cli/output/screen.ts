/** A line that is wider is harder to read, also on a wide terminal. */
const maxTextColumns = 120
const minColumns = 20

/** The columns for text on stdout: those of its terminal, else of `COLUMNS`, else 80. */
export const textColumns = (): number => {
  const columns = process.stdout.columns || Number(process.env["COLUMNS"]) || 80
  return Math.max(minColumns, Math.min(columns, maxTextColumns))
}

/** The columns for tables on stdout: those of its terminal. Programs that read a pipe need whole cells. */
export const tableColumns = (): number =>
  process.stdout.isTTY ? Math.max(minColumns, process.stdout.columns || 80) : Number.POSITIVE_INFINITY

/** The terminal of stderr, for a line that is drawn again; `undefined` where it cannot be. */
export const statusTerminal = () => {
  const { stderr } = process
  if (!stderr.isTTY || process.env["TERM"] === "dumb") return undefined
  return { write: (text: string) => stderr.write(text), columns: Math.max(minColumns, (stderr.columns || 80) - 1) }
}
