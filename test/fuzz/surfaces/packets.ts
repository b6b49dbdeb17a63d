import { isUtf8 } from "node:buffer"
import { isDeepStrictEqual } from "node:util"
import { Effect, Result } from "effect"
import { RawBody } from "../../../src/adapters/bytes/RawBody.ts"
import { scanJsonObject } from "../../../src/adapters/bytes/jsonScanner.ts"
import {
  makeAckPacket,
  makeNotificationPacket,
  makeRequestPacket,
  type OutboundMessage
} from "../../../src/adapters/socketio/connection/OutboundMessage.ts"
import {
  type InboundPacket,
  type PacketLimits,
  parsePacket
} from "../../../src/adapters/socketio/connection/parsePacket.ts"
import type { Body } from "../../../src/application/ports/Body.ts"
import { checkJsonBody, isJsonObject, type JsonObject, parseJsonOrThrow } from "../../../src/domain/json.ts"
import { must, pure, type Surface, type Verdict } from "../Surface.ts"
import { packets, packetWords } from "./packetCorpus.ts"

const inFull: PacketLimits = { namespace: "/smcp", maxMessageBytes: 1_000_000, validateBytes: Number.POSITIVE_INFINITY }
/** Makes every body too large for a full parse. */
const scanned: PacketLimits = { ...inFull, validateBytes: 0 }
const small: PacketLimits = { namespace: "/smcp", maxMessageBytes: 200, validateBytes: 60 }

const queue = { onDequeued: () => undefined }

/** The expected head of a value: unchanged scalars, placeholders for the rest. */
const headOf = (value: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      Array.isArray(member) ? [] : isJsonObject(member) ? {} : member
    ])
  )

/** True when the head belongs to the value; a fully parsed body is the head itself. */
const isHeadOf = (head: unknown, value: unknown): boolean =>
  isDeepStrictEqual(head, value) || (isJsonObject(value) && isDeepStrictEqual(head, headOf(value)))

/** The forwarded value as its receiver parses it. */
const again = (outgoing: OutboundMessage): InboundPacket | undefined => {
  const bytes = Buffer.concat(outgoing.frame())
  const length = bytes[1] ?? 0
  const head = length < 126 ? 2 : length === 126 ? 4 : 10
  must(bytes[head] === 0x34, "a frame does not begin with a message")
  must(bytes.subarray(head + 1).toString() === outgoing.text(), "a frame and its text differ")
  return parsePacket(bytes.subarray(head + 1), inFull)
}

const checkBody = (body: Body): void => {
  const whole = body.value()
  const text = body.text()
  if (Result.isFailure(whole)) return
  const value = whole.success
  must(checkJsonBody(value) === undefined, "a forbidden body was accepted")
  if (Result.isSuccess(body.head)) must(isHeadOf(body.head.success, value), "head and body differ")
  must(body.isObject === isJsonObject(value), "isObject is wrong")
  must(Result.isSuccess(text), "a valid body has no text")
  const answer = Result.getOrElse(text, () => "")
  must(!answer.includes("\u001e"), "a body could end a packet of polling")
  if (body instanceof RawBody) {
    must(body.json.length === body.byteLength(), "the length is wrong")
    must(isDeepStrictEqual(parseJsonOrThrow(answer), value), "text and value differ")
  }
}

/** True when two values have the same JSON; the encoder drops the sign of -0. */
const isSame = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(parseJsonOrThrow(JSON.stringify(one)), parseJsonOrThrow(JSON.stringify(other)))

/** Checks that a forwarded packet is parsed as before. */
const checkPassedOn = (packet: Extract<InboundPacket, { readonly type: "event" | "ack" }>): void => {
  if (packet.type === "event") {
    const value = packet.body.value()
    if (Result.isFailure(value) || value.success === undefined) return
    const next = again(
      packet.id === undefined
        ? makeNotificationPacket("/smcp", packet.event, packet.body, queue)
        : makeRequestPacket("/smcp", packet.id, packet.event, packet.body, queue)
    )
    must(next?.type === "event" && next.id === packet.id && next.event === packet.event, "another event")
    must(next?.type === "event" && isSame(Result.getOrUndefined(next.body.value()), value.success), "another body")
    return
  }
  const values = packet.values.map((body) => body.value())
  if (values.some((value) => Result.isFailure(value) || value.success === undefined)) return
  const next = again(makeAckPacket("/smcp", packet.id, packet.values, queue))
  must(next?.type === "ack" && next.id === packet.id, "another answer")
  must(
    next?.type === "ack" &&
      isSame(
        next.values.map((body) => Result.getOrUndefined(body.value())),
        values.map((value) => Result.getOrUndefined(value))
      ),
    "another answer's values"
  )
}

const check = (packet: InboundPacket, isText: boolean): void => {
  must(typeof packet.namespace === "string", "a namespace is not a string")
  if (packet.type !== "event" && packet.type !== "ack") return
  must(packet.attachments >= 0 && packet.attachments <= 16, "too many attachments")
  must(packet.id === undefined || Number.isSafeInteger(packet.id), "an id is not a number")
  const bodies = packet.type === "event" ? [packet.body] : packet.values
  for (const body of bodies) checkBody(body)
  // Invalid UTF-8 never arrives as text, and replacement characters would change its length.
  if (isText) checkPassedOn(packet)
}

/** Checks that scanning finds every packet that a full parse accepts. */
const compare = (full: InboundPacket | undefined, quick: InboundPacket | undefined): void => {
  if (full?.type !== "event") return
  const value = full.body.value()
  if (Result.isFailure(value) || !isJsonObject(value.success)) return
  must(quick?.type === "event", "scanning did not find an event")
  if (quick?.type !== "event") return
  must(quick.event === full.event && quick.id === full.id, "scanning found another event")
  const { head } = quick.body
  // Bodies with too many members have no head.
  if (Result.isFailure(head)) must(Object.keys(value.success).length > 1000, "scanning rejected a valid body")
  else must(isHeadOf(head.success, value.success), "scanning found another head")
}

const feed = (input: Buffer): Verdict => {
  const full = parsePacket(input, inFull)
  const quick = parsePacket(input, scanned)
  compare(full, quick)
  const isText = isUtf8(input)
  for (const packet of [full, quick, parsePacket(input, small)]) {
    if (packet !== undefined) check(packet, isText)
  }
  const found = scanJsonObject(input, Math.max(0, input.indexOf(0x7b)))
  if (found !== undefined) must(found.end <= input.length, "scanning went beyond the end")
  return full === undefined ? "refused" : "accepted"
}

/** Packets of Socket.IO. */
export const packetSurface: Surface = {
  name: "packets",
  about: "packets of Socket.IO: parsed, scanned and forwarded",
  weight: 18,
  lanes: 1,
  corpus: packets.map((text) => Buffer.from(text)),
  words: packetWords,
  longest: 32 * 1024,
  open: () => Effect.succeed(pure(feed))
}
