import { endMarker, hashByte, isTypeByte, matchNestedHeader, matchMarker, startMarker } from "./frameHeader.ts"

/**
 * How the scanner finds the end of a payload:
 * - `firstMarker`: at the first end marker
 * - `plain`: the same, but a complete header means that the frame was truncated
 * - `outsideString`, `insideString`, `escape`: JSON, by the position of the next byte: outside a string, inside a
 * string, or after a backslash. A string can contain both markers.
 */
export type PayloadMode = "firstMarker" | "plain" | "outsideString" | "insideString" | "escape"

export interface PayloadPosition {
  readonly offset: number
  readonly mode: PayloadMode
}

/** What the scanner has found at `offset`; `start` is the start of another frame. */
export interface PayloadMatch extends PayloadPosition {
  readonly outcome: "end" | "start" | "tooLarge" | "incomplete"
}

const quote = 0x22
const backslash = 0x5c
/** Bytes below this value are control characters, which are invalid in a JSON string. */
const firstPrintableByte = 0x20

const scanPlainPayload = (
  bytes: Uint8Array,
  from: number,
  lastEndOffset: number,
  mode: "firstMarker" | "plain"
): PayloadMatch => {
  let offset = from
  for (;;) {
    const nextHash = bytes.indexOf(hashByte, offset)
    offset = nextHash === -1 ? bytes.length : nextHash
    if (offset > lastEndOffset) return { outcome: "tooLarge", offset, mode }
    if (offset === bytes.length) return { outcome: "incomplete", offset, mode }
    const end = matchMarker(bytes, offset, endMarker)
    if (end === "yes") return { outcome: "end", offset, mode }
    const start = mode === "firstMarker" ? "no" : matchNestedHeader(bytes, offset)
    if (start === "yes") return { outcome: "start", offset, mode }
    if (end === "incomplete" || start === "incomplete") return { outcome: "incomplete", offset, mode }
    offset++
  }
}

/**
 * A `#` outside a string is not JSON, so both markers are valid. Inside a string both are content, except a start marker
 * with a type byte: types are control characters.
 */
const classifyHash = (bytes: Uint8Array, at: number, isOutside: boolean): PayloadMatch["outcome"] | "no" => {
  const end = isOutside ? matchMarker(bytes, at, endMarker) : "no"
  if (end === "yes") return "end"
  const start = matchMarker(bytes, at, startMarker)
  const type = bytes[at + startMarker.length]
  if (start === "yes" && isOutside) return "start"
  if (start === "yes" && type !== undefined) return isTypeByte(type) ? "start" : "no"
  return start !== "no" || end === "incomplete" ? "incomplete" : "no"
}

const scanJsonPayload = (
  bytes: Uint8Array,
  from: number,
  lastEndOffset: number,
  initialMode: "outsideString" | "insideString" | "escape"
): PayloadMatch => {
  const end = Math.min(bytes.length, lastEndOffset + 1)
  let mode = initialMode
  let offset = from
  for (; offset < end; offset++) {
    const byte = bytes[offset] ?? 0
    if (byte === hashByte) {
      const outcome = classifyHash(bytes, offset, mode === "outsideString")
      if (outcome !== "no") return { outcome, offset, mode }
      if (mode === "escape") mode = "insideString"
    } else if (mode === "outsideString") {
      if (byte === quote) mode = "insideString"
    } else if (byte < firstPrintableByte) {
      // The payload is not JSON, so strings no longer protect markers.
      return scanPlainPayload(bytes, offset + 1, lastEndOffset, "plain")
    } else if (mode === "escape") mode = "insideString"
    else if (byte === quote) mode = "outsideString"
    else if (byte === backslash) mode = "escape"
  }
  return { outcome: offset > lastEndOffset ? "tooLarge" : "incomplete", offset, mode }
}

/**
 * Scans a payload until a match or the end of the bytes; the end marker starts at `lastEndOffset` at the latest. Scans
 * each byte once, plus the few bytes after a `#`. The result depends only on the bytes from `offset` on, not on chunk
 * boundaries.
 */
export const scanPayload = (bytes: Uint8Array, { offset, mode }: PayloadPosition, lastEndOffset: number) =>
  mode === "firstMarker" || mode === "plain"
    ? scanPlainPayload(bytes, offset, lastEndOffset, mode)
    : scanJsonPayload(bytes, offset, lastEndOffset, mode)
