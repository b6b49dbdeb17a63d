import { Budget } from "./Budget.ts"
import type { FrameReader } from "./frames.ts"
import { firstPiece, FrameReader as Reader, lastPiece } from "./frames.ts"
import { mostFieldBytes } from "./Outbox.ts"

/** Frames in pieces of one node that may be under way at once: more than have room among what may wait for a node. */
const mostStreams = 1024

/** What ends the packet of Socket.IO in which a body goes on to a member. */
const closeBracket = 0x5d

/** Bytes that frames of one node may take until they are whole, where texts of so many bytes may wait for a node. */
export const mostHeld = (mostWaiting: number): number => mostWaiting + mostStreams * (mostFieldBytes + 1)

/**
 * A frame that came in pieces: its kind, its fields, and the text behind them with a closing bracket after it. Without
 * the text it is one that only begins, and of which nothing is kept because too much is held already.
 */
export interface Arrived {
  readonly kind: number
  readonly fields: FrameReader
  readonly tail: Buffer | undefined
}

interface Stream {
  readonly fields: Buffer
  readonly tail: Buffer
  /** Where the next piece goes. */
  position: number
}

const sizeOf = ({ fields, tail }: Stream): number => fields.length + tail.length

const arrived = (fields: Buffer, tail: Buffer | undefined): Arrived => {
  const reader = new Reader(fields)
  return { kind: reader.u8(), fields: reader, tail }
}

/** Puts frames that come in pieces together again. */
export class Inbox {
  readonly #streams = new Map<number, Stream>()
  readonly #own: Budget
  readonly #all: Budget

  /** `mostWaiting` is how many bytes of texts a node lets wait for another one; `all` is shared by all inboxes. */
  constructor(mostWaiting: number, all: Budget) {
    this.#own = new Budget(mostHeld(mostWaiting))
    this.#all = all
  }

  /** Frames of which something is missing. */
  get size(): number {
    return this.#streams.size
  }

  /** Takes a piece; gives the frame when it was the last one. Pieces without a beginning are nothing. */
  take(piece: FrameReader): Arrived | undefined {
    const id = piece.u32()
    const flags = piece.u8()
    if ((flags & firstPiece) !== 0) {
      const fields = piece.slice(piece.u32())
      const length = piece.u32()
      if (piece.failed || fields.length > mostFieldBytes) return undefined
      if (!this.#begin(id, fields, length)) return arrived(Buffer.from(fields), undefined)
    }
    const stream = this.#streams.get(id)
    if (stream === undefined) return undefined
    const { tail } = stream
    const end = tail.length - 1
    const part = piece.rest()
    const isLast = (flags & lastPiece) !== 0
    const position = stream.position + part.length
    if (piece.failed || position > end || (isLast && position < end)) {
      this.drop(id)
      return undefined
    }
    tail.set(part, stream.position)
    stream.position = position
    if (!isLast) return undefined
    this.drop(id)
    tail[end] = closeBracket
    return arrived(stream.fields, tail)
  }

  /** The rest of a frame will not come. */
  drop(id: number): void {
    const stream = this.#streams.get(id)
    if (stream === undefined) return
    this.#streams.delete(id)
    this.#own.give(sizeOf(stream))
    this.#all.give(sizeOf(stream))
  }

  /** Nothing comes any more. */
  close(): void {
    for (const id of this.#streams.keys()) this.drop(id)
  }

  /** A frame begins; false when there is no room for it. What is promised counts, whether it comes or not. */
  #begin(id: number, fields: Buffer, length: number): boolean {
    this.drop(id)
    const size = fields.length + length + 1
    if (this.#streams.size >= mostStreams || !this.#own.take(size)) return false
    if (!this.#all.take(size)) {
      this.#own.give(size)
      return false
    }
    // A copy: the piece may be a part of something larger.
    const stream = { fields: Buffer.from(fields), tail: Buffer.allocUnsafeSlow(length + 1), position: 0 }
    this.#streams.set(id, stream)
    return true
  }
}
