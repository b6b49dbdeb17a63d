/** What would move the cursor, change colours, reorder or hide text, or end a line. */
const treacherous = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

const escape = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** The text on one line, with everything a terminal would obey, or a person not see, spelled out. */
export const printable = (text: string): string => text.replaceAll(treacherous, escape)

/** Two columns for whatever may be wide: a line that turns out short does no harm. */
const widthOf = (character: string): number => (/^[ -~]$/.test(character) ? 1 : 2)

const wrap = (line: string, columns: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let current = ""
  let width = 0
  for (const character of line) {
    const wide = widthOf(character)
    if (width + wide > columns && current !== "") {
      lines.push(current)
      current = ""
      width = 0
    }
    current += character
    width += wide
  }
  return [...lines, current]
}

/**
 * A JSON value as indented lines of at most so many columns. No text inside it can end a line or get outside; of more
 * lines than `most` the first are shown, and the last says how many are not.
 */
export const printableJson = (value: unknown, columns: number, most: number): ReadonlyArray<string> => {
  const lines = JSON.stringify(value, undefined, 2)
    .split("\n")
    .flatMap((line) => wrap(printable(line), columns))
  if (lines.length <= most) return lines
  return [...lines.slice(0, most), `(cut: ${lines.length - most} more lines are not shown)`]
}
