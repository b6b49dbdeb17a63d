import { CliOutput } from "effect/cli"

interface Wrapping {
  readonly columns: number
  /** Spaces before all lines but the first. */
  readonly hanging?: number
  /** Ends all lines but the last. */
  readonly end?: string
}

/** Breaks a line between words. A word that is wider than the columns has a line for itself. */
export const wrapWords = (
  words: ReadonlyArray<string>,
  { columns, end = "", hanging = 0 }: Wrapping
): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let current = words[0] ?? ""
  for (const word of words.slice(1)) {
    if (CliOutput.displayWidth(`${current} ${word}${end}`) <= columns) current = `${current} ${word}`
    else {
      lines.push(`${current}${end}`)
      current = `${" ".repeat(hanging)}${word}`
    }
  }
  return [...lines, current]
}

/** Breaks a text of one paragraph between words. */
export const wrapText = (text: string, columns: number): ReadonlyArray<string> =>
  text.trim() === "" ? [] : wrapWords(text.trim().split(/\s+/), { columns })
