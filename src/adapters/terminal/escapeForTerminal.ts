/** Maximum lines of arguments: more would scroll the start of the question off the screen. */
const maxArgumentLines = 40

/** Characters that move the cursor, change colours, reorder or hide text, or end a line. */
const unsafeCharacters = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** Escapes control characters and invisible characters. The result is one line. */
export const escapeForTerminal = (text: string): string =>
  text.replaceAll(unsafeCharacters, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

const wrapLine = (line: string, columns: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let current = ""
  let width = 0
  for (const character of line) {
    // Assumes two columns for all characters outside ASCII: a short line does no harm.
    const characterWidth = /^[ -~]$/.test(character) ? 1 : 2
    if (width + characterWidth > columns && current !== "") {
      lines.push(current)
      current = ""
      width = 0
    }
    current += character
    width += characterWidth
  }
  return [...lines, current]
}

/** Formats arguments as indented JSON, escaped, in lines of at most `columns`. A last line counts the omitted ones. */
export const formatArguments = (value: unknown, columns: number): ReadonlyArray<string> => {
  const lines = JSON.stringify(value, undefined, 2)
    .split("\n")
    .flatMap((line) => wrapLine(escapeForTerminal(line), columns))
  const omitted = lines.length - maxArgumentLines
  return omitted <= 0 ? lines : [...lines.slice(0, maxArgumentLines), `(cut: ${omitted} more lines are not shown)`]
}
