import { Result } from "effect"

const opensJson = (char: string | undefined): boolean => char === "{" || char === "["
const isSpace = (char: string | undefined): boolean => char !== undefined && /\s/.test(char)

/**
 * Splits a line into words like a shell. Single quotes keep every character. In double quotes a backslash escapes `"`
 * and `\`, outside of quotes any character. Unlike in a shell, a word that begins with `{` or `[` extends to the end of
 * the line, for JSON without quotes. Fails with the missing part.
 */
export const splitWords = (line: string): Result.Result<ReadonlyArray<string>, string> => {
  const words: Array<string> = []
  let at = 0
  while (true) {
    while (isSpace(line[at])) at++
    if (at >= line.length) return Result.succeed(words)
    if (opensJson(line[at])) return Result.succeed([...words, line.slice(at).trimEnd()])
    let word = ""
    let quote: string | undefined
    for (; at < line.length && (quote !== undefined || !isSpace(line[at])); at++) {
      const char = line[at] ?? ""
      const next = line[at + 1]
      if (char === quote) quote = undefined
      else if (quote === "'") word += char
      else if (char === "\\" && (quote === undefined || next === '"' || next === "\\")) {
        if (next === undefined) return Result.fail("no character follows the backslash at the end of the line")
        word += next
        at++
      } else if (quote === undefined && (char === "'" || char === '"')) quote = char
      else word += char
    }
    if (quote !== undefined) return Result.fail(`the quote ${quote} is not closed`)
    words.push(word)
  }
}

/** Quotes a word for {@link splitWords}, which restores it. */
export const quoteWord = (word: string): string =>
  /^[^\s'"\\{[][^\s'"\\]*$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
