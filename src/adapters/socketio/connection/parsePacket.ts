import { type Body, invalidBody, receivedBody } from "../../../application/ports/Body.ts"
import { checkParsedJson, parseJson } from "../../../domain/json.ts"
import { badRequest, payloadTooLarge } from "../../../domain/model/ProtocolError.ts"
import { maxEnvelopeBytes, maxUnauthenticatedBytes } from "../limits.ts"
import type { ReceivedMessage } from "../../bytes/MessageLink.ts"
import { RawBody } from "../../bytes/RawBody.ts"
import { findStringEnd, isJsonWhitespace, scanJsonObject, skipWhitespace } from "../../bytes/jsonScanner.ts"

export interface PacketLimits {
  /** The namespace of A2C-SMCP. */
  readonly namespace: string
  /** Larger bodies get error 413. */
  readonly maxMessageBytes: number
  /** Bodies up to this size are parsed in full, larger ones as far as routing needs. */
  readonly validateBytes: number
}

/** An event or an acknowledgement. `attachments` is the number of binary frames that follow; they are dropped. */
export type MessagePacket = { readonly namespace: string; readonly attachments: number } & ReceivedMessage

export type InboundPacket =
  | { readonly type: "connect"; readonly namespace: string; readonly auth: unknown }
  | { readonly type: "disconnect"; readonly namespace: string }
  | MessagePacket

const quote = 0x22
const comma = 0x2c
const slash = 0x2f
const dash = 0x2d
const zero = 0x30
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const recordSeparator = 0x1e

/** Binary frames that one packet may announce; no honest client sends so many. */
const maxAttachments = 16

const isDigit = (byte: number | undefined): byte is number => byte !== undefined && byte >= zero && byte <= zero + 9

/** Parses a natural number of at most 15 digits at `at`; `end` is the index after it. */
const parseNumber = (bytes: Buffer, at: number) => {
  let value: number | undefined
  let place = at
  for (let byte = bytes[place]; isDigit(byte) && place < at + 15; byte = bytes[place]) {
    value = (value ?? 0) * 10 + byte - zero
    place += 1
  }
  return { value, end: place }
}

const binaryBody = invalidBody(badRequest("Bad message: binary data where JSON is expected"))

/** Bodies that the scanner rejects are parsed in full up to this size, for an exact error. */
const maxFullParseBytes = 64 * 1024

/** Replaces larger ones: parsing millions of values blocks all members. */
const unparsedBody = invalidBody(
  badRequest("Bad message: a large body must be one text or JSON object, of not too many members and levels")
)

/** The index of the bracket that ends a packet, before trailing white space; -1 without one. */
const closingBracketIndex = (bytes: Buffer): number => {
  let end = bytes.length - 1
  while (end > 0 && bytes[end] !== closeBracket && isJsonWhitespace(bytes[end])) end -= 1
  return bytes[end] === closeBracket ? end : -1
}

/** The parsed arguments of a packet; `undefined` unless they are a JSON array. */
const parseArguments = (bytes: Buffer, at: number, end: number) => {
  const text = bytes.toString("utf8", at, end + 1)
  const values = parseJson(text)
  return Array.isArray(values) ? { text, values: values as ReadonlyArray<unknown> } : undefined
}

/** The body of the only value between `from` and `to`, which keeps the received bytes. `text` contains the value. */
const toOnlyBody = (bytes: Buffer, from: number, to: number, text: string, value: unknown): Body => {
  const problem = checkParsedJson(text, value)
  if (problem !== undefined) return invalidBody(badRequest(`Bad message: ${problem}`))
  return RawBody.parsed(bytes.subarray(from, to + 1), value)
}

/** True for large arguments, except a single string, which parses fast at any length. */
const isExpensiveToParse = (bytes: Buffer, from: number, end: number): boolean =>
  end - from > maxFullParseBytes &&
  !(bytes[from] === quote && skipWhitespace(bytes, findStringEnd(bytes, from)) === end)

/** Parses the event name and the first body of the array that begins at `at`. */
const parseEvent = (bytes: Buffer, at: number, { maxMessageBytes, validateBytes }: PacketLimits) => {
  const end = closingBracketIndex(bytes)
  const nameAt = skipWhitespace(bytes, at + 1)
  if (end === -1 || bytes[nameAt] !== quote) return undefined
  const nameEnd = findStringEnd(bytes, nameAt)
  if (nameEnd === -1 || nameEnd - nameAt > maxEnvelopeBytes) return undefined
  const separator = skipWhitespace(bytes, nameEnd)
  const from = skipWhitespace(bytes, separator + 1)
  if (end - from > validateBytes) {
    const event = parseJson(bytes.toString("utf8", nameAt, nameEnd))
    if (typeof event !== "string" || bytes[separator] !== comma) return undefined
    if (end - from > maxMessageBytes) return { event, body: invalidBody(payloadTooLarge(maxMessageBytes)) }
    if (bytes.includes(recordSeparator, from)) return undefined
    const scanned = scanJsonObject(bytes, from)
    if (scanned !== undefined && skipWhitespace(bytes, scanned.end) === end) {
      return { event, body: RawBody.scanned(bytes.subarray(from, end + 1), scanned.head) }
    }
    if (isExpensiveToParse(bytes, from, end)) return { event, body: unparsedBody }
  }
  const parsed = parseArguments(bytes, at, end)
  const event = parsed?.values[0]
  if (parsed === undefined || typeof event !== "string") return undefined
  const { text, values } = parsed
  return { event, body: values.length === 2 ? toOnlyBody(bytes, from, end, text, values[1]) : receivedBody(values[1]) }
}

/** Parses the values of an acknowledgement, from the array that begins at `at`. */
const parseAck = (bytes: Buffer, at: number, { maxMessageBytes, validateBytes }: PacketLimits) => {
  const end = closingBracketIndex(bytes)
  if (end === -1) return undefined
  const from = skipWhitespace(bytes, at + 1)
  if (end - from > maxMessageBytes) return [invalidBody(payloadTooLarge(maxMessageBytes))]
  if (end - from > validateBytes) {
    if (bytes.includes(recordSeparator, from)) return undefined
    if (bytes[from] === openBrace && bytes[end - 1] === closeBrace) {
      return [RawBody.unparsed(bytes.subarray(from, end + 1))]
    }
    if (isExpensiveToParse(bytes, from, end)) return [unparsedBody]
  }
  const parsed = parseArguments(bytes, at, end)
  if (parsed === undefined) return undefined
  const { text, values } = parsed
  return values.length === 1 ? [toOnlyBody(bytes, from, end, text, values[0])] : values.map(receivedBody)
}

/** The namespace of a packet and the index after it. */
const parseNamespace = (bytes: Buffer, at: number, namespace: string) => {
  if (bytes[at] !== slash) return { name: "/", end: at }
  const nameEnd = at + namespace.length
  const isOurs = bytes[nameEnd] === comma && bytes.toString("latin1", at, nameEnd) === namespace
  if (isOurs) return { name: namespace, end: nameEnd + 1 }
  const stop = bytes.indexOf(comma, at)
  const end = stop === -1 ? bytes.length : stop
  return { name: bytes.toString("utf8", at, end), end: end + 1 }
}

/** Parses one packet in the standard format of Socket.IO; `undefined` when it is invalid. */
export const parsePacket = (bytes: Buffer, limits: PacketLimits): InboundPacket | undefined => {
  const kind = (bytes[0] ?? 0) - zero
  const isBinary = kind === 5 || kind === 6
  const announced = isBinary ? parseNumber(bytes, 1) : undefined
  const attachments = announced?.value ?? 0
  if (announced !== undefined && (bytes[announced.end] !== dash || attachments > maxAttachments)) return undefined
  const { end, name } = parseNamespace(bytes, announced === undefined ? 1 : announced.end + 1, limits.namespace)
  switch (kind) {
    case 0: {
      if (bytes.length > maxUnauthenticatedBytes) return undefined
      const text = bytes.toString("utf8", end)
      const auth = text === "" ? undefined : parseJson(text)
      return text !== "" && auth === undefined ? undefined : { type: "connect", namespace: name, auth }
    }
    case 1:
      return { type: "disconnect", namespace: name }
    case 2:
    case 5: {
      const { end: at, value: id } = parseNumber(bytes, end)
      if (bytes[at] !== openBracket) return undefined
      const read = parseEvent(bytes, at, limits)
      if (read === undefined) return undefined
      const body = attachments > 0 ? binaryBody : read.body
      return { type: "event", namespace: name, id, event: read.event, body, attachments }
    }
    case 3:
    case 6: {
      const { end: at, value: id } = parseNumber(bytes, end)
      if (bytes[at] !== openBracket || id === undefined) return undefined
      const read = parseAck(bytes, at, limits)
      if (read === undefined) return undefined
      return { type: "ack", namespace: name, id, values: attachments > 0 ? [binaryBody] : read, attachments }
    }
    default:
      return undefined
  }
}
