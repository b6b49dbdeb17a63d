import {
  endMarker,
  hashByte,
  isTypeByte,
  matchNestedHeader,
  matchMarker,
  startMarker
} from "./frameHeader.ts"

/**
 * How the end of a payload is found:
 * - `first`: the first end marker, whatever stands before it
 * - `plain`: the same, but a whole header means that the frame was cut off and a new one begins
 * - `outside`, `inside`, `escaped`: JSON, by where in it the next byte stands: in no string, in a string, or in a
 *   string after a backslash. A string may hold both markers.
 */
export type PayloadMode = "first" | "plain" | "outside" | "inside" | "escaped"

/** Where the reading of a payload stands. */
export interface PayloadPosition {
  /** The next byte to look at. */
  readonly offset: number
  readonly mode: PayloadMode
}

/**
 * What has been found at `at`: the end marker, the start of another frame, that there are too many bytes (and no marker
 * begins before `at`), or nothing that could be decided by the bytes there are.
 */
export interface PayloadMatch extends PayloadPosition {
  readonly outcome: "end" | "start" | "oversize" | "open"
}

const quote = 0x22
const backslash = 0x5c
/** Bytes below this are control characters, which no string of JSON may hold as they are. */
const firstPrintableByte = 0x20

const scanPlainPayload = (
  bytes: Uint8Array,
  from: number,
  lastEndOffset: number,
  mode: "first" | "plain"
): PayloadMatch => {
  let offset = from
  for (;;) {
    const nextHash = bytes.indexOf(hashByte, offset)
    offset = nextHash === -1 ? bytes.length : nextHash
    if (offset > lastEndOffset) return { outcome: "oversize", offset, mode }
    if (offset === bytes.length) return { outcome: "open", offset, mode }
    const end = matchMarker(bytes, offset, endMarker)
    if (end === "yes") return { outcome: "end", offset, mode }
    const start = mode === "first" ? "no" : matchNestedHeader(bytes, offset)
    if (start === "yes") return { outcome: "start", offset, mode }
    if (end === "cut" || start === "cut") return { outcome: "open", offset, mode }
    offset++
  }
}

/** In no string a `#` is no JSON, so both markers are meant. */
const classifyOutsideString = (bytes: Uint8Array, at: number): PayloadMatch["outcome"] | "no" => {
  const end = matchMarker(bytes, at, endMarker)
  if (end === "yes") return "end"
  const start = matchMarker(bytes, at, startMarker)
  if (start === "yes") return "start"
  return end === "cut" || start === "cut" ? "open" : "no"
}

/** In a string both are content, but for a start marker with a type: types are control characters. */
const classifyInsideString = (bytes: Uint8Array, at: number): PayloadMatch["outcome"] | "no" => {
  const start = matchMarker(bytes, at, startMarker)
  if (start === "no") return "no"
  const type = bytes[at + startMarker.length]
  if (start === "cut" || type === undefined) return "open"
  return isTypeByte(type) ? "start" : "no"
}

const scanJsonPayload = (
  bytes: Uint8Array,
  from: number,
  lastEndOffset: number,
  initialMode: "outside" | "inside" | "escaped"
): PayloadMatch => {
  const end = Math.min(bytes.length, lastEndOffset + 1)
  let mode = initialMode
  let offset = from
  for (; offset < end; offset++) {
    const byte = bytes[offset] ?? 0
    if (byte === hashByte) {
      const outcome =
        mode === "outside" ? classifyOutsideString(bytes, offset) : classifyInsideString(bytes, offset)
      if (outcome !== "no") return { outcome, offset, mode }
      if (mode === "escaped") mode = "inside"
    } else if (mode === "outside") {
      if (byte === quote) mode = "inside"
    } else if (byte < firstPrintableByte) {
      // It is no JSON whatever follows, so strings are not a shelter any more.
      return scanPlainPayload(bytes, offset + 1, lastEndOffset, "plain")
    } else if (mode === "escaped") mode = "inside"
    else if (byte === quote) mode = "outside"
    else if (byte === backslash) mode = "escaped"
  }
  return { outcome: offset > lastEndOffset ? "oversize" : "open", offset, mode }
}

/**
 * Reads on in a payload until something is found or the bytes end; `last` is the last place where its end marker may
 * begin. Looks at every byte once, and at the few after a `#` once more. What it finds depends on nothing but the bytes
 * from `at` on, so that it does not matter how they came.
 */
export const scanPayload = (
  bytes: Uint8Array,
  { offset, mode }: PayloadPosition,
  lastEndOffset: number
): PayloadMatch =>
  mode === "first" || mode === "plain"
    ? scanPlainPayload(bytes, offset, lastEndOffset, mode)
    : scanJsonPayload(bytes, offset, lastEndOffset, mode)
