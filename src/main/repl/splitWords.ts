import { Result } from "effect"

const opensJson = (char: string | undefined): boolean => char === "{" || char === "["
const isSpace = (char: string | undefined): boolean => char !== undefined && /\s/.test(char)

/**
 * Splits a line into words as a shell does: single quotes keep everything, in double quotes a backslash protects `"`
 * and `\`, elsewhere it protects any character. One thing differs: a word that begins with `{` or `[` is the rest of
 * the line as it stands, so that JSON needs no quotes around it. Fails with what is missing.
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
        if (next === undefined) return Result.fail("nothing follows the backslash at the end of the line")
        word += next
        at++
      } else if (quote === undefined && (char === "'" || char === '"')) quote = char
      else word += char
    }
    if (quote !== undefined) return Result.fail(`the quote ${quote} is not closed`)
    words.push(word)
  }
}

/** A word spelled so that {@link splitWords} gives it back. */
export const quoteWord = (word: string): string =>
  /^[^\s'"\\{[][^\s'"\\]*$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
