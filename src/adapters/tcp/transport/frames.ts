import { Result } from "effect"
import type { Body } from "../../../application/ports/Body.ts"
import { parseJson } from "../../../domain/json.ts"
import type { MessageQueue, QueuedMessage, ReceivedMessage } from "../../bytes/MessageLink.ts"
import { RawBody } from "../../bytes/RawBody.ts"

/**
 * A frame is its length in four bytes, its kind in one, and its fields; numbers are big-endian. An event has its request
 * id, which is 0 for a notification, the length of its name, the name and the body. A reply has its request id and, for
 * each value, its length and the value. Other frames have a JSON text. A body or value is its JSON text and a bracket,
 * with which a WebSocket forwards it.
 */
export const frameKinds = { connect: 1, accept: 2, reject: 3, event: 4, reply: 5, check: 6, close: 7 } as const

/** Bodies up to this size are copied behind their header: one write costs less than two. */
const maxInlineBytes = 16 * 1024

const bracket = "]"

/** A frame that waits for its connection. */
export interface FrameMessage extends QueuedMessage {
  readonly chunks: readonly [head: Buffer, ...Array<Buffer>]
}

const tailOf = (body: Body): Buffer =>
  body instanceof RawBody ? body.tail : Buffer.from(Result.getOrElse(body.text(), () => "null") + bracket)

/** A frame of this kind with room for its fields, and the parts behind them. */
const makeFrame = (
  kind: number,
  fieldBytes: number,
  parts: ReadonlyArray<Buffer>,
  queue: MessageQueue
): FrameMessage => {
  const partBytes = parts.reduce((sum, { length }) => sum + length, 0)
  const isInlined = partBytes <= maxInlineBytes
  const head = Buffer.allocUnsafe(5 + fieldBytes + (isInlined ? partBytes : 0))
  head.writeUInt32BE(1 + fieldBytes + partBytes)
  head[4] = kind
  const size = 5 + fieldBytes + partBytes
  if (!isInlined) return { size, queue, chunks: [head, ...parts] }
  let at = 5 + fieldBytes
  for (const part of parts) at += part.copy(head, at)
  return { size, queue, chunks: [head] }
}

export const encodeEvent = (id: number, event: string, body: Body, queue: MessageQueue): FrameMessage => {
  const nameBytes = Buffer.byteLength(event)
  const frame = makeFrame(frameKinds.event, 8 + nameBytes, [tailOf(body)], queue)
  const [head] = frame.chunks
  head.writeUInt32BE(id, 5)
  head.writeUInt32BE(nameBytes, 9)
  head.write(event, 13)
  return frame
}

export const encodeReply = (id: number, values: ReadonlyArray<Body>, queue: MessageQueue): FrameMessage => {
  const parts = values.map(tailOf).flatMap((tail) => {
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32BE(tail.length)
    return [length, tail]
  })
  const frame = makeFrame(frameKinds.reply, 4, parts, queue)
  frame.chunks[0].writeUInt32BE(id, 5)
  return frame
}

/** Control frames count nowhere. */
const noQueue: MessageQueue = { onDequeued: () => undefined }

/** A frame with a JSON text, or without fields. */
export const encodeControl = (kind: number, value?: object): Buffer => {
  const text = value === undefined ? "" : JSON.stringify(value)
  const [bytes] = makeFrame(kind, Buffer.byteLength(text), [], noQueue).chunks
  bytes.write(text, 5)
  return bytes
}

/** The JSON text of a frame without its length; `undefined` when it is invalid. */
export const decodeControl = (frame: Buffer): unknown => parseJson(frame.toString("utf8", 1))

/** The message of an event or a reply without its length; `undefined` when it is invalid. */
export const decodeFrame = (frame: Buffer): ReceivedMessage | undefined => {
  if (frame.length < 5) return undefined
  const id = frame.readUInt32BE(1)
  if (frame[0] === frameKinds.event) {
    const bodyAt = frame.length < 9 ? frame.length : 9 + frame.readUInt32BE(5)
    if (frame.length < bodyAt + 2) return undefined
    const event = frame.toString("utf8", 9, bodyAt)
    return { type: "event", id: id === 0 ? undefined : id, event, body: RawBody.unparsed(frame.subarray(bodyAt)) }
  }
  const values: Array<Body> = []
  for (let at = 5; at < frame.length; ) {
    if (frame.length < at + 4) return undefined
    const end = at + 4 + frame.readUInt32BE(at)
    if (end < at + 6 || frame.length < end) return undefined
    values.push(RawBody.unparsed(frame.subarray(at + 4, end)))
    at = end
  }
  return { type: "ack", id, values }
}

/** Puts frames together from the chunks of a connection. */
export class FrameReader {
  readonly #onFrame: (frame: Buffer) => void
  readonly #header = Buffer.alloc(4)
  #headerBytes = 0
  #frame: Buffer | undefined
  #filled = 0
  /** Limits each frame. */
  maxBytes: number

  constructor(maxBytes: number, onFrame: (frame: Buffer) => void) {
    this.maxBytes = maxBytes
    this.#onFrame = onFrame
  }

  /** Reads a chunk; false when a frame is empty or too long. */
  read(chunk: Buffer): boolean {
    let at = 0
    while (at < chunk.length) {
      const frame = this.#frame
      if (frame !== undefined) {
        const taken = chunk.copy(frame, this.#filled, at)
        at += taken
        this.#filled += taken
        if (this.#filled < frame.length) return true
        this.#frame = undefined
        this.#onFrame(frame)
        continue
      }
      const taken = chunk.copy(this.#header, this.#headerBytes, at, at + 4 - this.#headerBytes)
      at += taken
      this.#headerBytes += taken
      if (this.#headerBytes < 4) return true
      this.#headerBytes = 0
      const length = this.#header.readUInt32BE()
      if (length === 0 || length > this.maxBytes) return false
      if (chunk.length - at >= length) {
        this.#onFrame(chunk.subarray(at, at + length))
        at += length
        continue
      }
      this.#frame = Buffer.allocUnsafeSlow(length)
      this.#filled = 0
    }
    return true
  }
}
