import type { FrameReader } from "./frames.ts"
import { firstPiece, FrameReader as Reader, lastPiece } from "./frames.ts"

/** Frames in pieces of one node that may be under way at once: more than any window lets begin. */
const mostStreams = 4096

/** A frame as it comes: its kind, its fields, and the text behind them where that came in pieces. */
export interface Arrived {
  readonly kind: number
  readonly fields: FrameReader
  readonly text: string | undefined
}

interface Stream {
  readonly fields: Buffer
  text: string
}

/** Puts frames that come in pieces together again. */
export class Inbox {
  readonly #streams = new Map<number, Stream>()
  readonly #mostUnits: number

  /** `mostUnits` is how long a text may get, in UTF-16 units. */
  constructor(mostUnits: number) {
    this.#mostUnits = mostUnits
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
      this.#streams.set(id, { fields: Buffer.from(piece.slice(piece.u32())), text: "" })
    }
    const stream = this.#streams.get(id)
    if (stream === undefined) return undefined
    stream.text += piece.text()
    if (piece.failed || stream.text.length > this.#mostUnits) {
      this.#streams.delete(id)
      return undefined
    }
    if ((flags & lastPiece) === 0) return undefined
    this.#streams.delete(id)
    const fields = new Reader(stream.fields)
    return { kind: fields.u8(), fields, text: stream.text }
  }

  drop(id: number): void {
    this.#streams.delete(id)
  }
}
