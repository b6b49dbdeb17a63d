import { Result } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import type { Refusal } from "../../domain/refusal.ts"
import { namespace } from "./limits.ts"
import { RawBody } from "../bytes/RawBody.ts"

/** A text frame of a WebSocket as the bytes it came in, the digit of Engine.IO left out. */
export class TextFrame {
  readonly bytes: Buffer
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

/** Bodies up to this size are copied behind their head: one write costs less than two. */
const copied = 16 * 1024

/** Room for the longest head of a frame that a server sends. */
const longestHead = 10

/** Writes the head of an unmasked text frame before `at`; where it begins. */
const writeFrameHead = (bytes: Buffer, at: number, length: number): number => {
  if (length < 126) {
    bytes[at - 2] = 0x81
    bytes[at - 1] = length
    return at - 2
  }
  if (length < 65_536) {
    bytes[at - 4] = 0x81
    bytes[at - 3] = 126
    bytes.writeUInt16BE(length, at - 2)
    return at - 4
  }
  bytes[at - 10] = 0x81
  bytes[at - 9] = 127
  bytes.writeUInt32BE(0, at - 8)
  bytes.writeUInt32BE(length, at - 4)
  return at - 10
}

/**
 * A message on its way out: the text of its head and, when a body goes out as it came in, that body with the bracket
 * that ends the packet. Engine.IO keeps it until the transport of the moment takes it.
 */
export class Outgoing {
  readonly #head: string
  readonly #tail: Buffer | undefined
  readonly size: number
  /** Runs when the transport has taken it. */
  readonly taken: (size: number) => void
  constructor(head: string, tail: Buffer | undefined, taken: (size: number) => void) {
    this.#head = head
    this.#tail = tail
    this.size = head.length + (tail?.length ?? 0)
    this.taken = taken
  }
  /** For polling, whose payloads are text. */
  text(): string {
    return this.#tail === undefined ? this.#head : this.#head + this.#tail.toString("utf8")
  }
  /** For WebSocket: the whole frame in one piece or two. */
  frame(): ReadonlyArray<Buffer> {
    const tail = this.#tail
    const headLength = 1 + Buffer.byteLength(this.#head)
    const length = headLength + (tail?.length ?? 0)
    const together = tail !== undefined && tail.length <= copied
    const bytes = Buffer.allocUnsafe(longestHead + (together ? length : headLength))
    bytes[longestHead] = 0x34
    bytes.write(this.#head, longestHead + 1)
    if (together) tail.copy(bytes, longestHead + headLength)
    const frame = bytes.subarray(writeFrameHead(bytes, longestHead, length))
    return tail === undefined || together ? [frame] : [frame, tail]
  }
}

/** Why a body cannot go out, or `undefined` when it can. */
export const unwritable = (body: Body): Refusal | undefined => {
  if (body instanceof RawBody) return undefined
  const text = body.text()
  return Result.isFailure(text) ? text.failure : undefined
}

const textOf = (body: Body): string => Result.getOrElse(body.text(), () => "null")

/** A packet of the namespace with some bodies: everything before them, and they. */
const packet = (start: string, bodies: ReadonlyArray<Body>, taken: (size: number) => void): Outgoing => {
  const [only] = bodies
  return bodies.length === 1 && only instanceof RawBody
    ? new Outgoing(start, only.tail, taken)
    : new Outgoing(`${start}${bodies.map(textOf).join(",")}]`, undefined, taken)
}

/** An event, with the id of the acknowledgement when one is wanted. */
export const eventPacket = (
  id: number | undefined,
  event: string,
  body: Body,
  taken: (size: number) => void
): Outgoing => packet(`2${namespace},${id ?? ""}[${JSON.stringify(event)},`, [body], taken)

/** An acknowledgement. */
export const answerPacket = (
  id: number,
  answer: ReadonlyArray<Body>,
  taken: (size: number) => void
): Outgoing => packet(`3${namespace},${id}[`, answer, taken)
