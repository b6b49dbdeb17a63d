import { Record } from "effect"
import { type FrameType, frameTypes } from "./frame.ts"

/** First byte of both markers. */
export const hashByte = 0x23
/** `##START` */
export const startMarker: ReadonlyArray<number> = [hashByte, hashByte, 0x53, 0x54, 0x41, 0x52, 0x54]
/** `##END` */
export const endMarker: ReadonlyArray<number> = [hashByte, hashByte, 0x45, 0x4e, 0x44]

/** Size of the task field, in bytes; shorter tasks are padded with spaces. */
export const taskLength = 8

export const maxSequence = 9999

const typeOffset = startMarker.length
const taskOffset = typeOffset + 1
const sequenceOffset = taskOffset + taskLength

/** Size of a header, in bytes: start marker, type, task, and four digits of the sequence. */
export const headerLength = sequenceOffset + 4

/** Size of a header whose sequence stands in brackets, as some documents show it. */
export const maxHeaderLength = headerLength + 2

const openBracket = 0x5b
const closeBracket = 0x5d

const typeNames = new Map<number, FrameType>(Record.toEntries(frameTypes).map(([name, byte]) => [byte, name]))
const maxTypeByte = Math.max(...typeNames.keys())

/** Types are numbered from 1 without gaps. */
export const isTypeByte = (byte: number): boolean => byte >= 1 && byte <= maxTypeByte

/** Result of a match; `incomplete` when the bytes end before it is decided. */
export type Match = "yes" | "no" | "incomplete"

export const matchMarker = (bytes: Uint8Array, at: number, marker: ReadonlyArray<number>): Match => {
  for (let index = 0; index < marker.length; index++) {
    if (at + index >= bytes.length) return "incomplete"
    if (bytes[at + index] !== marker[index]) return "no"
  }
  return "yes"
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39

/** `index` counts from the start marker. */
const isValidHeaderByte = (byte: number, index: number, bracketed: boolean): boolean => {
  if (index === typeOffset) return isTypeByte(byte)
  if (index < sequenceOffset) return byte >= 0x20 && byte <= 0x7e
  if (!bracketed) return isDigit(byte)
  if (index === sequenceOffset) return byte === openBracket
  return index === maxHeaderLength - 1 ? byte === closeBracket : isDigit(byte)
}

const headerLengthAt = (bytes: Uint8Array, at: number): number =>
  bytes[at + sequenceOffset] === openBracket ? maxHeaderLength : headerLength

/** Matches a complete header, including its start marker; "no" at the first invalid byte. */
export const matchHeader = (bytes: Uint8Array, at: number): Match => {
  const match = matchMarker(bytes, at, startMarker)
  if (match !== "yes") return match
  const size = headerLengthAt(bytes, at)
  for (let index = typeOffset; index < size; index++) {
    const byte = bytes[at + index]
    if (byte === undefined) return "incomplete"
    if (!isValidHeaderByte(byte, index, size === maxHeaderLength)) return "no"
  }
  return "yes"
}

/**
 * Matches the header of a new frame inside the payload of another. Stricter than {@link matchHeader}: an end marker in
 * the task field ends the payload, so a payload with a start marker never waits for more bytes.
 */
export const matchNestedHeader = (bytes: Uint8Array, at: number): Match => {
  const match = matchHeader(bytes, at)
  if (match === "no") return "no"
  for (let inner = at + taskOffset; inner <= at + sequenceOffset - endMarker.length; inner++) {
    if (matchMarker(bytes, inner, endMarker) === "yes") return "no"
  }
  return match
}

export type Header = NonNullable<ReturnType<typeof parseHeader>>

// Hot path: concatenating characters is six times as fast as spreading them.
const decodeAscii = (bytes: Uint8Array, from: number, to: number): string => {
  let text = ""
  for (let at = from; at < to; at++) text += String.fromCharCode(bytes[at] ?? 0)
  return text
}

/** Parses a header that {@link matchHeader} has found. */
export const parseHeader = (bytes: Uint8Array, at: number) => {
  const type = typeNames.get(bytes[at + typeOffset] ?? 0)
  if (type === undefined) return undefined
  const size = headerLengthAt(bytes, at)
  const bracketed = size === maxHeaderLength
  const digits = at + sequenceOffset + (bracketed ? 1 : 0)
  return {
    type,
    task: decodeAscii(bytes, at + taskOffset, at + sequenceOffset).trimEnd(),
    sequence: Number(decodeAscii(bytes, digits, digits + 4)),
    bracketed,
    /** In bytes, including the start marker. */
    size
  }
}
