import { firstFragment, lastFragment, MessageReader } from "./messageFormat.ts"
import { maxFieldBytes } from "./SendQueue.ts"

/** Frames in pieces of one node that may be under way at once: more than have room among what may wait for a node. */
const maxStreams = 1024

/** What ends the packet of Socket.IO in which a body goes on to a member. */
const closeBracket = 0x5d

/** Bytes that frames of one node may take until they are whole, where texts of so many bytes may wait for a node. */
export const maxReassemblyBytes = (maxQueuedBytes: number): number =>
  maxQueuedBytes + maxStreams * (maxFieldBytes + 1)

/**
 * A frame that came in pieces: its kind, its fields, and the text behind them with a closing bracket after it. Without
 * the text it is one that only begins, and of which nothing is kept because too much is held already.
 */
export interface ReassembledFrame {
  readonly kind: number
  readonly fields: MessageReader
  readonly tail: Buffer | undefined
}

interface PartialFrame {
  readonly fields: Buffer
  readonly tail: Buffer
  /** Where the next piece goes. */
  receivedBytes: number
}

const partialFrameBytes = ({ fields, tail }: PartialFrame): number => fields.length + tail.length

const makeReassembledFrame = (fields: Buffer, tail: Buffer | undefined): ReassembledFrame => {
  const reader = new MessageReader(fields)
  return { kind: reader.u8(), fields: reader, tail }
}

/** Counts the bytes held by one reassembler, or by all of them. */
export class ByteBudget {
  readonly #maxBytes: number
  #usedBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Reserves bytes; false, without reserving any, when the budget is exceeded. */
  reserve(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#maxBytes) return false
    this.#usedBytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes
  }
}

/** Puts frames that come in pieces together again. */
export class FrameReassembler {
  readonly #partialFrames = new Map<number, PartialFrame>()
  readonly #nodeBudget: ByteBudget
  readonly #clusterBudget: ByteBudget

  /** `mostWaiting` is how many bytes of texts a node lets wait for another one; `all` is shared by all inboxes. */
  constructor(maxQueuedBytes: number, clusterBudget: ByteBudget) {
    this.#nodeBudget = new ByteBudget(maxReassemblyBytes(maxQueuedBytes))
    this.#clusterBudget = clusterBudget
  }

  /** Frames of which something is missing. */
  get size(): number {
    return this.#partialFrames.size
  }

  /** Takes a piece; gives the frame when it was the last one. Pieces without a beginning are nothing. */
  onFragment(fragment: MessageReader): ReassembledFrame | undefined {
    const id = fragment.u32()
    const flags = fragment.u8()
    if ((flags & firstFragment) !== 0) {
      const fields = fragment.slice(fragment.u32())
      const length = fragment.u32()
      if (fragment.isTruncated || fields.length > maxFieldBytes) return undefined
      if (!this.#start(id, fields, length)) return makeReassembledFrame(Buffer.from(fields), undefined)
    }
    const partial = this.#partialFrames.get(id)
    if (partial === undefined) return undefined
    const { tail } = partial
    const end = tail.length - 1
    const chunk = fragment.rest()
    const isLast = (flags & lastFragment) !== 0
    const position = partial.receivedBytes + chunk.length
    if (fragment.isTruncated || position > end || (isLast && position < end)) {
      this.discard(id)
      return undefined
    }
    tail.set(chunk, partial.receivedBytes)
    partial.receivedBytes = position
    if (!isLast) return undefined
    this.discard(id)
    tail[end] = closeBracket
    return makeReassembledFrame(partial.fields, tail)
  }

  /** The rest of a frame will not come. */
  discard(id: number): void {
    const partial = this.#partialFrames.get(id)
    if (partial === undefined) return
    this.#partialFrames.delete(id)
    this.#nodeBudget.release(partialFrameBytes(partial))
    this.#clusterBudget.release(partialFrameBytes(partial))
  }

  /** Nothing comes any more. */
  close(): void {
    for (const id of this.#partialFrames.keys()) this.discard(id)
  }

  /** A frame begins; false when there is no room for it. What is promised counts, whether it comes or not. */
  #start(id: number, fields: Buffer, length: number): boolean {
    this.discard(id)
    const bytes = fields.length + length + 1
    if (this.#partialFrames.size >= maxStreams || !this.#nodeBudget.reserve(bytes)) return false
    if (!this.#clusterBudget.reserve(bytes)) {
      this.#nodeBudget.release(bytes)
      return false
    }
    // A copy: the piece may be a part of something larger.
    const partial = {
      fields: Buffer.from(fields),
      tail: Buffer.allocUnsafeSlow(length + 1),
      receivedBytes: 0
    }
    this.#partialFrames.set(id, partial)
    return true
  }
}
