import { encodeUtf8 } from "../utf8.ts"

/** The size of a value as JSON in UTF-8, in bytes. */
export const jsonSize = (value: unknown): number => encodeUtf8(JSON.stringify(value) ?? "").length

const shortEscapes = /["\\\b\t\n\f\r]/

/** The bytes of a character within JSON text: `JSON.stringify` escapes control characters and unpaired surrogates. */
const characterSize = (character: string): number => {
  const code = character.codePointAt(0) ?? 0
  if (shortEscapes.test(character)) return 2
  if (code < 0x20 || (code >= 0xd800 && code <= 0xdfff)) return 6
  if (code < 0x80) return 1
  if (code < 0x800) return 2
  return code < 0x10000 ? 3 : 4
}

/**
 * Gives the end of the page that begins at `start`: its text needs at most `maxBytes` within JSON, and splits no
 * character. A page has at least one character.
 */
export const pageEnd = (text: string, start: number, maxBytes: number): number => {
  let end = start
  let left = maxBytes
  while (end < text.length) {
    const character = String.fromCodePoint(text.codePointAt(end) ?? 0)
    left -= characterSize(character)
    if (left < 0 && end > start) break
    end += character.length
  }
  return end
}

/** Moves an offset within a character to its start. */
export const toCharacterStart = (text: string, offset: number): number =>
  offset > 0 && offset < text.length && (text.codePointAt(offset - 1) ?? 0) > 0xffff ? offset - 1 : offset
