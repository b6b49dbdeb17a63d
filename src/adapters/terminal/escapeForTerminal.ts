/** Characters that move the cursor, change colours, reorder or hide text, or end a line. */
const unsafeCharacters = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

const escapeCharacter = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** Escapes control characters and invisible characters. The result is one line. */
export const escapeForTerminal = (text: string): string => text.replaceAll(unsafeCharacters, escapeCharacter)

/** Assumes two columns for all characters outside ASCII: a short line does no harm. */
const characterWidth = (character: string): number => (/^[ -~]$/.test(character) ? 1 : 2)

const wrapLine = (line: string, columns: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let current = ""
  let width = 0
  for (const character of line) {
    const columnsOfCharacter = characterWidth(character)
    if (width + columnsOfCharacter > columns && current !== "") {
      lines.push(current)
      current = ""
      width = 0
    }
    current += character
    width += columnsOfCharacter
  }
  return [...lines, current]
}

/**
 * Formats a JSON value as indented lines of at most `columns`, with escaped texts. After `maxLines` lines, one more states
 * how many are omitted.
 */
export const formatJsonForTerminal = (value: unknown, columns: number, maxLines: number): ReadonlyArray<string> => {
  const lines = JSON.stringify(value, undefined, 2)
    .split("\n")
    .flatMap((line) => wrapLine(escapeForTerminal(line), columns))
  if (lines.length <= maxLines) return lines
  return [...lines.slice(0, maxLines), `(cut: ${lines.length - maxLines} more lines are not shown)`]
}
