/** Characters that a terminal interprets or hides, even inside quotes. */
const unsafeCharacters = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const escapeCharacter = (character: string): string => {
  const code = (character.codePointAt(0) ?? 0).toString(16)
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`
}

/** A flag with its value in one word where the value looks like a flag. */
export const flagWords = (flag: string, value: string) => (value.startsWith("-") ? [`${flag}=${value}`] : [flag, value])

/** Quotes a word for a shell, if necessary. Unsafe characters become escapes in `$'…'`, as bash, ksh and zsh have it. */
export const quoteForShell = (word: string): string => {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  if (word.search(unsafeCharacters) < 0) return `'${word.replaceAll("'", `'\\''`)}'`
  return `$'${word.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll(unsafeCharacters, escapeCharacter)}'`
}
