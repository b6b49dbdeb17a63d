import { firstPiece, frameOverhead, FrameWriter, kinds, lastPiece, mostFrameBytes } from "./frames.ts"

/** Most bytes of one message. Longer ones gain nothing, and a short one waits longer behind them. */
const messageBytes = 128 * 1024

/** Most bytes of the text in one piece. */
const pieceBytes = 120 * 1024

/** Bytes of a piece beside its kind, its fields and its text: stream, flags, lengths of the fields and the text. */
const pieceOverhead = 4 + 1 + 4 + 4

/** Longest frame that goes as a whole; its bound, not its length, is what counts. */
export const mostWholeBytes = pieceBytes

/**
 * Bytes on their way to a node, that is, in the hands of Redis, before nothing in pieces is added, and before nothing
 * at all is: far below 8 MB, with which Redis lets a subscriber go unless told otherwise.
 */
const piecesWindow = 1024 * 1024
const wholeWindow = 2 * piecesWindow

/** Bytes that have arrived after which their sender is told, though nothing else is to be said. */
const takenAtOnce = piecesWindow / 4

/** Spare buffers that are kept: as many as fill a window, twice. */
const mostSpare = (2 * wholeWindow) / messageBytes

/** Buffers for messages, to be used again: fresh memory costs more than writing it. */
export class Buffers {
  readonly #spare: Array<Buffer> = []
  take(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(messageBytes)
  }
  /** Gives a buffer back, or a part of it, that nobody reads any more. */
  give({ buffer }: Buffer): void {
    if (this.#spare.length < mostSpare) this.#spare.push(Buffer.from(buffer))
  }
}

/** A frame that waits for its turn: the fields go first, then the text. */
export interface Waiting {
  readonly lane: string
  readonly fields: Uint8Array
  readonly text: Buffer
  /** How many bytes of the text have gone, and the number of the pieces once one has. */
  position: number
  stream: number
}

/** What the outbox asks of whoever owns it. */
export interface Carrier {
  readonly node: string
  readonly buffers: Buffers
  /** Most bytes of texts that may wait, of which a part may have gone. */
  readonly mostWaiting: number
  readonly incarnation: () => number
  /** Calls {@link Outbox.flush} once, when this turn of the event loop has ended. */
  readonly soon: (outbox: Outbox) => void
  readonly publish: (outbox: Outbox, message: Buffer) => void
}

/**
 * What goes to one node. Frames of one turn of the event loop go together in one message. Long ones wait in lanes, one
 * for each member and each answer, which take turns piece by piece, so that nobody waits for the end of somebody
 * else's; within a lane the order stays.
 */
export class Outbox {
  readonly #carrier: Carrier
  readonly #lanes = new Map<string, Array<Waiting>>()
  readonly #sealed: Array<Buffer> = []
  #writer: FrameWriter | undefined
  #unacknowledged = 0
  #taken = 0
  #waiting = 0
  #streams = 0
  #dirty = false
  #closed = false
  /** The incarnation of the receiver as far as it is known. */
  to = 0

  constructor(carrier: Carrier) {
    this.#carrier = carrier
  }

  /** Bytes of texts that wait; one counts until its last piece has gone, since the far end holds as much. */
  get waiting(): number {
    return this.#waiting
  }

  /** True when a frame of this lane need not wait. */
  isFree(lane: string): boolean {
    return !this.#lanes.has(lane) && this.#unacknowledged < wholeWindow
  }

  /** A writer with room for a frame of so many bytes at most: {@link mostWholeBytes}. */
  writer(bound: number): FrameWriter {
    this.#touch()
    const writer = this.#writer
    if (writer !== undefined) {
      if (writer.room >= bound + frameOverhead) return writer
      this.#seal(writer)
    }
    return (this.#writer = new FrameWriter(this.#carrier.buffers.take()).open(this.#carrier.node))
  }

  /** Puts a frame into its lane; `undefined` when too much waits already. */
  wait(lane: string, fields: Uint8Array, text: Buffer): Waiting | undefined {
    if (this.#waiting + text.length > this.#carrier.mostWaiting) return undefined
    const waiting: Waiting = { lane, fields, text, position: 0, stream: 0 }
    const others = this.#lanes.get(lane)
    if (others === undefined) this.#lanes.set(lane, [waiting])
    else others.push(waiting)
    this.#waiting += text.length
    this.#touch()
    return waiting
  }

  /** Takes a frame back; says how much of it has gone. */
  withdraw(waiting: Waiting): "unsent" | "begun" | "sent" {
    const lane = this.#lanes.get(waiting.lane)
    const index = lane?.indexOf(waiting) ?? -1
    if (lane === undefined || index < 0) return "sent"
    lane.splice(index, 1)
    if (lane.length === 0) this.#lanes.delete(waiting.lane)
    this.#waiting -= waiting.text.length
    if (waiting.stream === 0) return "unsent"
    this.writer(16).begin(kinds.drop).u32(waiting.stream).end()
    return "begun"
  }

  /** Takes back everything in a lane. */
  withdrawAll(lane: string): void {
    for (const waiting of new Set(this.#lanes.get(lane))) this.withdraw(waiting)
  }

  /** So many bytes have arrived at the far end. */
  acknowledged(bytes: number): void {
    this.#unacknowledged = Math.max(0, this.#unacknowledged - bytes)
    if (this.#lanes.size > 0) this.#touch()
  }

  /** So many bytes have arrived from the far end. */
  took(bytes: number): void {
    this.#taken += bytes
    if (this.#taken >= takenAtOnce) this.#touch()
  }

  /** The far end is gone: what has not been sent goes nowhere. */
  close(): void {
    this.#closed = true
    this.#lanes.clear()
    this.#waiting = 0
  }

  /** Tells the far end what has arrived from it, though little has. */
  settle(): void {
    if (this.#taken === 0) return
    this.writer(0)
  }

  /** Sends what there is, as far as the windows let it. */
  flush(): void {
    if (this.#closed) return
    this.#pump()
    if (this.#writer === undefined && this.#sealed.length === 0 && this.#taken >= takenAtOnce) this.writer(0)
    this.#dirty = false
    if (this.#writer !== undefined) this.#seal(this.#writer)
    for (const message of this.#sealed) this.#carrier.publish(this, message)
    this.#sealed.length = 0
  }

  #touch(): void {
    if (this.#dirty || this.#closed) return
    this.#dirty = true
    this.#carrier.soon(this)
  }

  #seal(writer: FrameWriter): void {
    const message = writer.seal(this.#carrier.incarnation(), this.to, this.#taken)
    this.#taken = 0
    // What only acknowledges is not acknowledged itself.
    if (!writer.isEmpty) this.#unacknowledged += message.length
    this.#sealed.push(message)
    this.#writer = undefined
  }

  #pump(): void {
    while (this.#lanes.size > 0 && this.#unacknowledged + (this.#writer?.length ?? 0) < piecesWindow) {
      for (const [lane, frames] of this.#lanes) {
        const [waiting] = frames
        if (waiting !== undefined && !this.#put(waiting)) frames.shift()
        // to the end of the row
        this.#lanes.delete(lane)
        if (frames.length > 0) this.#lanes.set(lane, frames)
        break
      }
    }
  }

  /** Writes the next piece of a frame, or all of it where it is short; false when nothing is left of it. */
  #put(waiting: Waiting): boolean {
    const { fields, text } = waiting
    const from = waiting.position
    if (from === 0 && fields.length + text.length <= pieceBytes) {
      const [kind = 0] = fields
      this.writer(fields.length + text.length)
        .begin(kind)
        .bytes(fields.subarray(1))
        .bytes(text)
        .end()
      this.#waiting -= text.length
      return false
    }
    const first = from === 0
    if (first) waiting.stream = ++this.#streams
    const writer = this.writer(pieceOverhead + fields.length + pieceBytes)
    writer.begin(kinds.piece).u32(waiting.stream)
    const flags = writer.length
    writer.u8(0)
    if (first) writer.u32(fields.length).bytes(fields).u32(text.length)
    waiting.position = Math.min(text.length, from + pieceBytes)
    writer.bytes(text.subarray(from, waiting.position))
    const left = waiting.position < text.length
    writer.buffer.writeUInt8((first ? firstPiece : 0) | (left ? 0 : lastPiece), flags)
    writer.end()
    if (!left) this.#waiting -= text.length
    return left
  }
}

/** Most bytes of the fields of a frame in pieces, so that the first piece fits a message. */
export const mostFieldBytes = mostFrameBytes(messageBytes) - pieceOverhead - pieceBytes
