import { Record } from "effect"
import { type FrameType, frameTypes } from "./frame.ts"

/** The byte that both markers begin with. */
export const hash = 0x23

/** `##START`, before every frame. */
export const startMarker: ReadonlyArray<number> = [hash, hash, 0x53, 0x54, 0x41, 0x52, 0x54]

/** `##END`, after every frame. */
export const endMarker: ReadonlyArray<number> = [hash, hash, 0x45, 0x4e, 0x44]

/** How many bytes of every frame are the task's name. Shorter names are filled up with spaces. */
export const taskBytes = 8

/** The largest sequence that four digits can say. */
export const largestSequence = 9999

const typeAt = startMarker.length
const taskAt = typeAt + 1
const sequenceAt = taskAt + taskBytes

/** How many bytes stand before the payload: marker, type, task and four digits. */
export const headerBytes = sequenceAt + 4

/** The same with the brackets that some documents show around the digits. */
export const longestHeader = headerBytes + 2

const openBracket = 0x5b
const closeBracket = 0x5d

const typeNames = new Map<number, FrameType>(Record.toEntries(frameTypes).map(([name, byte]) => [byte, name]))
const lastType = Math.max(...typeNames.keys())

/** Does a byte say a type of frame? Types are numbered from 1 without gaps. */
export const isTypeByte = (byte: number): boolean => byte >= 1 && byte <= lastType

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
const fits = (byte: number, index: number, bracketed: boolean): boolean => {
  if (index === typeAt) return isTypeByte(byte)
  if (index < sequenceAt) return byte >= 0x20 && byte <= 0x7e
  if (!bracketed) return isDigit(byte)
  if (index === sequenceAt) return byte === openBracket
  return index === longestHeader - 1 ? byte === closeBracket : isDigit(byte)
}

/** How many bytes a header takes; for one that {@link matchHeader} found. */
const headerSize = (bytes: Uint8Array, at: number): number =>
  bytes[at + sequenceAt] === openBracket ? longestHeader : headerBytes

/** Does a whole header stand there, start marker and all? "no" as soon as one byte speaks against it. */
export const matchHeader = (bytes: Uint8Array, at: number): Match => {
  const match = matchMarker(bytes, at, startMarker)
  if (match !== "yes") return match
  const size = headerSize(bytes, at)
  for (let index = typeAt; index < size; index++) {
    const byte = bytes[at + index]
    if (byte === undefined) return "cut"
    if (!fits(byte, index, size === longestHeader)) return "no"
  }
  return "yes"
}

/**
 * Does a new frame begin there, inside the payload of another? Stricter than {@link matchHeader}: an end marker where
 * the task would stand ends the payload, so that a text which happens to hold a start marker never waits for more.
 */
export const matchInnerHeader = (bytes: Uint8Array, at: number): Match => {
  const match = matchHeader(bytes, at)
  if (match === "no") return "no"
  for (let inner = at + taskAt; inner <= at + sequenceAt - endMarker.length; inner++) {
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
const readAscii = (bytes: Uint8Array, from: number, to: number): string => {
  let text = ""
  for (let at = from; at < to; at++) text += String.fromCharCode(bytes[at] ?? 0)
  return text
}

/** Reads a header that {@link matchHeader} found; anything else gives `undefined`. */
export const readHeader = (bytes: Uint8Array, at: number): Header | undefined => {
  const type = typeNames.get(bytes[at + typeAt] ?? 0)
  if (type === undefined) return undefined
  const size = headerSize(bytes, at)
  const bracketed = size === longestHeader
  const digits = at + sequenceAt + (bracketed ? 1 : 0)
  return {
    type,
    task: readAscii(bytes, at + taskAt, at + sequenceAt).trimEnd(),
    sequence: Number(readAscii(bytes, digits, digits + 4)),
    bracketed,
    size
  }
}
