import { endMarker, hash, isTypeByte, matchInnerHeader, matchMarker, startMarker } from "./wire.ts"

/**
 * How the end of a payload is found:
 * - `first`: the first end marker, whatever stands before it
 * - `plain`: the same, but a whole header means that the frame was cut off and a new one begins
 * - `outside`, `inside`, `escaped`: JSON, by where in it the next byte stands: in no string, in a string, or in a
 *   string after a backslash. A string may hold both markers.
 */
export type Mode = "first" | "plain" | "outside" | "inside" | "escaped"

/** Where the reading of a payload stands. */
export interface Reading {
  /** The next byte to look at. */
  readonly at: number
  readonly mode: Mode
}

/**
 * What has been found at `at`: the end marker, the start of another frame, that there are too many bytes (and no marker
 * begins before `at`), or nothing that could be decided by the bytes there are.
 */
export interface Found extends Reading {
  readonly found: "end" | "start" | "oversize" | "open"
}

const quote = 0x22
const backslash = 0x5c
/** Bytes below this are control characters, which no string of JSON may hold as they are. */
const firstPrintable = 0x20

const searchPlain = (bytes: Uint8Array, from: number, last: number, mode: "first" | "plain"): Found => {
  let at = from
  for (;;) {
    const next = bytes.indexOf(hash, at)
    at = next === -1 ? bytes.length : next
    if (at > last) return { found: "oversize", at, mode }
    if (at === bytes.length) return { found: "open", at, mode }
    const end = matchMarker(bytes, at, endMarker)
    if (end === "yes") return { found: "end", at, mode }
    const start = mode === "first" ? "no" : matchInnerHeader(bytes, at)
    if (start === "yes") return { found: "start", at, mode }
    if (end === "cut" || start === "cut") return { found: "open", at, mode }
    at++
  }
}

/** In no string a `#` is no JSON, so both markers are meant. */
const meantOutside = (bytes: Uint8Array, at: number): Found["found"] | "no" => {
  const end = matchMarker(bytes, at, endMarker)
  if (end === "yes") return "end"
  const start = matchMarker(bytes, at, startMarker)
  if (start === "yes") return "start"
  return end === "cut" || start === "cut" ? "open" : "no"
}

/** In a string both are content, but for a start marker with a type: types are control characters. */
const meantInside = (bytes: Uint8Array, at: number): Found["found"] | "no" => {
  const start = matchMarker(bytes, at, startMarker)
  if (start === "no") return "no"
  const type = bytes[at + startMarker.length]
  if (start === "cut" || type === undefined) return "open"
  return isTypeByte(type) ? "start" : "no"
}

const searchJson = (
  bytes: Uint8Array,
  from: number,
  last: number,
  begun: "outside" | "inside" | "escaped"
): Found => {
  const end = Math.min(bytes.length, last + 1)
  let mode = begun
  let at = from
  for (; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (byte === hash) {
      const meant = mode === "outside" ? meantOutside(bytes, at) : meantInside(bytes, at)
      if (meant !== "no") return { found: meant, at, mode }
      if (mode === "escaped") mode = "inside"
    } else if (mode === "outside") {
      if (byte === quote) mode = "inside"
    } else if (byte < firstPrintable) {
      // It is no JSON whatever follows, so strings are not a shelter any more.
      return searchPlain(bytes, at + 1, last, "plain")
    } else if (mode === "escaped") mode = "inside"
    else if (byte === quote) mode = "outside"
    else if (byte === backslash) mode = "escaped"
  }
  return { found: at > last ? "oversize" : "open", at, mode }
}

/**
 * Reads on in a payload until something is found or the bytes end; `last` is the last place where its end marker may
 * begin. Looks at every byte once, and at the few after a `#` once more. What it finds depends on nothing but the bytes
 * from `at` on, so that it does not matter how they came.
 */
export const search = (bytes: Uint8Array, { at, mode }: Reading, last: number): Found =>
  mode === "first" || mode === "plain"
    ? searchPlain(bytes, at, last, mode)
    : searchJson(bytes, at, last, mode)
