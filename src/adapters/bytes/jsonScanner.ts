import { maxJsonDepth, parseJsonOrThrow } from "../../domain/json.ts"

// Not exported: V8 reads an exported constant from a cell, which makes the scan about 15 % slower.
const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

export const isJsonWhitespace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** The first index from `at` on without white space. */
export const skipWhitespace = (bytes: Buffer, at: number): number => {
  let place = at
  while (isJsonWhitespace(bytes[place])) place += 1
  return place
}

/** The index after a string that opens at `at`; -1 when it does not close. */
export const findStringEnd = (bytes: Buffer, at: number): number => {
  for (let end = bytes.indexOf(quote, at + 1); end !== -1; end = bytes.indexOf(quote, end + 1)) {
    let escapes = end - 1
    while (bytes[escapes] === backslash) escapes -= 1
    if ((end - escapes) % 2 === 1) return end + 1
  }
  return -1
}

/** Members per object. Real messages have fewer, and so many take no noticeable time. */
const maxMembers = 1000

/** The closing brackets of open containers; shared by all scans, which are synchronous. */
const expectedClosers = new Uint8Array(maxJsonDepth)

/** The index after an object or array that opens at `at`; -1 when brackets do not match or are too deep. */
const findContainerEnd = (bytes: Buffer, at: number): number => {
  let depth = 1
  for (let place = at; place < bytes.length; place += 1) {
    const byte = bytes[place] ?? 0
    switch (byte) {
      case quote:
        place = findStringEnd(bytes, place) - 1
        if (place < 0) return -1
        break
      case openBrace:
      case openBracket:
        depth += 1
        if (depth > maxJsonDepth) return -1
        expectedClosers[depth - 1] = byte === openBrace ? closeBrace : closeBracket
        break
      case closeBrace:
      case closeBracket:
        if (expectedClosers[depth - 1] !== byte) return -1
        depth -= 1
        if (depth === 1) return place + 1
        break
      default:
    }
  }
  return -1
}

/** The index after a number or a literal that begins at `at`. */
const findScalarEnd = (bytes: Buffer, at: number): number => {
  let place = at
  for (let byte = bytes[place]; byte !== undefined; byte = bytes[place]) {
    if (byte === comma || byte === closeBrace || byte === closeBracket || isJsonWhitespace(byte)) return place
    place += 1
  }
  return place
}

const parseScalar = (bytes: Buffer, from: number, to: number): unknown =>
  parseJsonOrThrow(bytes.toString("utf8", from, to))

/**
 * Parses the outermost members of a JSON object from `at` to `end`, exclusive. Scalars are complete. Objects and arrays
 * are empty stand-ins: only their brackets and strings are checked. The last of equal names counts, as for `JSON.parse`.
 * `undefined` without a complete object, beyond the maximum depth or 1000 members, and with a member `__proto__`.
 */
export const scanJsonObject = (bytes: Buffer, at: number) => {
  try {
    return scanMembers(bytes, at)
  } catch {
    return undefined
  }
}

const scanMembers = (bytes: Buffer, at: number) => {
  const head: Record<string, unknown> = {}
  let place = skipWhitespace(bytes, at)
  if (bytes[place] !== openBrace) return undefined
  place = skipWhitespace(bytes, place + 1)
  if (bytes[place] === closeBrace) return { head, end: place + 1 }
  for (let count = 0; count < maxMembers; count += 1) {
    if (bytes[place] !== quote) return undefined
    const nameEnd = findStringEnd(bytes, place)
    if (nameEnd === -1) return undefined
    const name = parseScalar(bytes, place, nameEnd)
    place = skipWhitespace(bytes, nameEnd)
    if (bytes[place] !== colon || typeof name !== "string" || name === "__proto__") return undefined
    place = skipWhitespace(bytes, place + 1)
    const first = bytes[place]
    const isContainer = first === openBrace || first === openBracket
    const end = isContainer
      ? findContainerEnd(bytes, place)
      : first === quote
        ? findStringEnd(bytes, place)
        : findScalarEnd(bytes, place)
    if (end === -1) return undefined
    head[name] = isContainer ? (first === openBrace ? {} : []) : parseScalar(bytes, place, end)
    place = skipWhitespace(bytes, end)
    if (bytes[place] === closeBrace) return { head, end: place + 1 }
    if (bytes[place] !== comma) return undefined
    place = skipWhitespace(bytes, place + 1)
  }
  return undefined
}
