import { CliOutput } from "effect/cli"

interface Wrapping {
  readonly columns: number
  /** Spaces before all lines but the first. */
  readonly hanging?: number
  /** Ends all lines but the last. */
  readonly end?: string
}

/** Breaks a line between words. A word that is wider than the columns has a line for itself. */
export const wrapWords = (words: ReadonlyArray<string>, { columns, end = "", hanging = 0 }: Wrapping) => {
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
export const wrapText = (text: string, columns: number) => (text === "" ? [] : wrapWords(text.split(" "), { columns }))

/** Breaks the lines of a text between words. The parts of an indented line stand further to the right than its start. */
export const wrapLines = (text: string, columns: number): string =>
  text
    .split("\n")
    .flatMap((line) => {
      const indent = line.length - line.trimStart().length
      const words = line.trimStart().split(" ")
      const hanging = indent === 0 ? 0 : 2
      return wrapWords(words, { columns: columns - indent, hanging }).map((part) => " ".repeat(indent) + part)
    })
    .join("\n")

export const padText = (text: string, columns: number): string =>
  text + " ".repeat(Math.max(0, columns - CliOutput.displayWidth(text)))

/** Pads a text to these columns, or cuts it and ends it with an ellipsis. */
export const fitText = (text: string, columns: number): string => {
  if (CliOutput.displayWidth(text) <= columns) return padText(text, columns)
  let kept = ""
  // Made here, because its data take milliseconds to load.
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)) {
    if (CliOutput.displayWidth(`${kept}${segment}…`) > columns) break
    kept += segment
  }
  return padText(`${kept}…`, columns)
}

/** The columns to which a description is cut before other columns are. */
const minDescriptionColumns = 16
const minCellColumns = 4

/**
 * Fits columns that are two spaces apart into a line. The last one, which has descriptions, gives way first, and then always
 * the widest.
 */
export const fitWidths = (widths: ReadonlyArray<number>, columns: number): ReadonlyArray<number> => {
  const fitted = [...widths]
  const last = fitted.length - 1
  let excess = fitted.reduce((sum, width) => sum + width + 2, -2) - columns
  for (; excess > 0; excess--) {
    const widest = (fitted[last] ?? 0) > minDescriptionColumns ? last : fitted.indexOf(Math.max(...fitted))
    if ((fitted[widest] ?? 0) <= minCellColumns) break
    fitted[widest] = (fitted[widest] ?? 0) - 1
  }
  return fitted
}
