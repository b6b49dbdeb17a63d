import type { FrameReader } from "./frames.ts"
import { firstPiece, FrameReader as Reader, lastPiece } from "./frames.ts"

/** Frames in pieces of one node that may be under way at once: more than any window lets begin. */
const mostStreams = 4096

/** What ends the packet of Socket.IO in which a body goes on to a member. */
const closeBracket = 0x5d

/** A frame that came in pieces: its kind, its fields, and the text behind them with a closing bracket after it. */
export interface Arrived {
  readonly kind: number
  readonly fields: FrameReader
  readonly tail: Buffer
}

interface Stream {
  readonly fields: Buffer
  readonly tail: Buffer
  /** Where the next piece goes. */
  position: number
}

/** Puts frames that come in pieces together again. */
export class Inbox {
  readonly #streams = new Map<number, Stream>()
  readonly #mostBytes: number

  /** `mostBytes` is how long a text may be. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /** Frames of which something is missing. */
  get size(): number {
    return this.#streams.size
  }

  /** Takes a piece; gives the frame when it was the last one. Pieces without a beginning are nothing. */
  take(piece: FrameReader): Arrived | undefined {
    const id = piece.u32()
    const flags = piece.u8()
    if ((flags & firstPiece) !== 0 && this.#streams.size < mostStreams) {
      // A copy: the piece may be a part of something larger.
      const fields = Buffer.from(piece.slice(piece.u32()))
      const length = piece.u32()
      if (piece.failed || length > this.#mostBytes) return undefined
      this.#streams.set(id, { fields, tail: Buffer.allocUnsafeSlow(length + 1), position: 0 })
    }
    const stream = this.#streams.get(id)
    if (stream === undefined) return undefined
    const { tail } = stream
    const end = tail.length - 1
    const part = piece.rest()
    const isLast = (flags & lastPiece) !== 0
    const position = stream.position + part.length
    if (piece.failed || position > end || (isLast && position < end)) {
      this.#streams.delete(id)
      return undefined
    }
    tail.set(part, stream.position)
    stream.position = position
    if (!isLast) return undefined
    this.#streams.delete(id)
    tail[end] = closeBracket
    const fields = new Reader(stream.fields)
    return { kind: fields.u8(), fields, tail }
  }

  drop(id: number): void {
    this.#streams.delete(id)
  }
}
