import { Record } from "effect"
import { type FrameType, frameTypes } from "./frame.ts"

/** The byte that both markers begin with. */
export const hashByte = 0x23

/** `##START`, before every frame. */
export const startMarker: ReadonlyArray<number> = [hashByte, hashByte, 0x53, 0x54, 0x41, 0x52, 0x54]

/** `##END`, after every frame. */
export const endMarker: ReadonlyArray<number> = [hashByte, hashByte, 0x45, 0x4e, 0x44]

/** How many bytes of every frame are the task's name. Shorter names are filled up with spaces. */
export const taskLength = 8

/** The largest sequence that four digits can say. */
export const maxSequence = 9999

const typeOffset = startMarker.length
const taskOffset = typeOffset + 1
const sequenceOffset = taskOffset + taskLength

/** How many bytes stand before the payload: marker, type, task and four digits. */
export const headerLength = sequenceOffset + 4

/** The same with the brackets that some documents show around the digits. */
export const maxHeaderLength = headerLength + 2

const openBracket = 0x5b
const closeBracket = 0x5d

const typeNames = new Map<number, FrameType>(Record.toEntries(frameTypes).map(([name, byte]) => [byte, name]))
const maxTypeByte = Math.max(...typeNames.keys())

/** Does a byte say a type of frame? Types are numbered from 1 without gaps. */
export const isTypeByte = (byte: number): boolean => byte >= 1 && byte <= maxTypeByte

/** What bytes say about something that should begin among them: it does, it does not, or they end too early to tell. */
export type Match = "yes" | "no" | "cut"

/** Does a marker stand there? */
export const matchMarker = (bytes: Uint8Array, at: number, marker: ReadonlyArray<number>): Match => {
  for (let index = 0; index < marker.length; index++) {
    if (at + index >= bytes.length) return "cut"
    if (bytes[at + index] !== marker[index]) return "no"
  }
  return "yes"
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39

/** Can a byte stand at this place of a header, counted from the start marker? */
const isValidHeaderByte = (byte: number, index: number, bracketed: boolean): boolean => {
  if (index === typeOffset) return isTypeByte(byte)
  if (index < sequenceOffset) return byte >= 0x20 && byte <= 0x7e
  if (!bracketed) return isDigit(byte)
  if (index === sequenceOffset) return byte === openBracket
  return index === maxHeaderLength - 1 ? byte === closeBracket : isDigit(byte)
}

/** How many bytes a header takes; for one that {@link matchHeader} found. */
const headerLengthAt = (bytes: Uint8Array, at: number): number =>
  bytes[at + sequenceOffset] === openBracket ? maxHeaderLength : headerLength

/** Does a whole header stand there, start marker and all? "no" as soon as one byte speaks against it. */
export const matchHeader = (bytes: Uint8Array, at: number): Match => {
  const match = matchMarker(bytes, at, startMarker)
  if (match !== "yes") return match
  const size = headerLengthAt(bytes, at)
  for (let index = typeOffset; index < size; index++) {
    const byte = bytes[at + index]
    if (byte === undefined) return "cut"
    if (!isValidHeaderByte(byte, index, size === maxHeaderLength)) return "no"
  }
  return "yes"
}

/**
 * Does a new frame begin there, inside the payload of another? Stricter than {@link matchHeader}: an end marker where
 * the task would stand ends the payload, so that a text which happens to hold a start marker never waits for more.
 */
export const matchNestedHeader = (bytes: Uint8Array, at: number): Match => {
  const match = matchHeader(bytes, at)
  if (match === "no") return "no"
  for (let inner = at + taskOffset; inner <= at + sequenceOffset - endMarker.length; inner++) {
    if (matchMarker(bytes, inner, endMarker) === "yes") return "no"
  }
  return match
}

/** What a header says. */
export interface Header {
  readonly type: FrameType
  /** Without the spaces it was filled up with. */
  readonly task: string
  readonly sequence: number
  /** Stood the sequence in brackets? */
  readonly bracketed: boolean
  /** How many bytes it took, the start marker included. */
  readonly size: number
}

// Every frame passes here: adding up characters is six times as fast as spreading them.
const decodeAscii = (bytes: Uint8Array, from: number, to: number): string => {
  let text = ""
  for (let at = from; at < to; at++) text += String.fromCharCode(bytes[at] ?? 0)
  return text
}

/** Reads a header that {@link matchHeader} found; anything else gives `undefined`. */
export const parseHeader = (bytes: Uint8Array, at: number): Header | undefined => {
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
    size
  }
}
