import { firstFragment, lastFragment, MessageReader } from "./messageFormat.ts"
import { maxFieldBytes } from "./SendQueue.ts"

/** Maximum of incomplete frames of one peer. */
const maxStreams = 1024

/** Ends the Socket.IO packet in which a body is relayed to a member. */
export const closeBracket = 0x5d

/** Maximum bytes of incomplete frames of one peer, given the maximum bytes of its send queue. */
export const maxReassemblyBytes = (maxQueuedBytes: number): number =>
  maxQueuedBytes + maxStreams * (maxFieldBytes + 1)

/**
 * A frame from fragments. `tail` is its text with a closing bracket after it. Without `tail` the frame was dropped at its
 * first fragment, because the reassembly budget is exceeded.
 */
export interface ReassembledFrame {
  readonly kind: number
  readonly fields: MessageReader
  readonly tail: Buffer | undefined
}

interface PartialFrame {
  readonly fields: Buffer
  readonly tail: Buffer
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

/** Reassembles the fragmented frames of one peer. */
export class FrameReassembler {
  readonly #partialFrames = new Map<number, PartialFrame>()
  readonly #nodeBudget: ByteBudget
  readonly #clusterBudget: ByteBudget

  /** `maxQueuedBytes` bounds the send queue of a node; all reassemblers share `clusterBudget`. */
  constructor(maxQueuedBytes: number, clusterBudget: ByteBudget) {
    this.#nodeBudget = new ByteBudget(maxReassemblyBytes(maxQueuedBytes))
    this.#clusterBudget = clusterBudget
  }

  /** Incomplete frames. */
  get size(): number {
    return this.#partialFrames.size
  }

  /** Adds a fragment. Returns the frame with its last fragment. Ignores fragments whose first one is missing. */
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

  /** Drops an incomplete frame. */
  discard(id: number): void {
    const partial = this.#partialFrames.get(id)
    if (partial === undefined) return
    this.#partialFrames.delete(id)
    this.#nodeBudget.release(partialFrameBytes(partial))
    this.#clusterBudget.release(partialFrameBytes(partial))
  }

  /** Drops all incomplete frames. */
  close(): void {
    for (const id of this.#partialFrames.keys()) this.discard(id)
  }

  /** Starts a frame and reserves its announced length; false when the budget is exceeded. */
  #start(id: number, fields: Buffer, length: number): boolean {
    this.discard(id)
    const bytes = fields.length + length + 1
    if (this.#partialFrames.size >= maxStreams || !this.#nodeBudget.reserve(bytes)) return false
    if (!this.#clusterBudget.reserve(bytes)) {
      this.#nodeBudget.release(bytes)
      return false
    }
    // Copies the fields, since the fragment is a view of a whole message.
    const partial = {
      fields: Buffer.from(fields),
      tail: Buffer.allocUnsafeSlow(length + 1),
      receivedBytes: 0
    }
    this.#partialFrames.set(id, partial)
    return true
  }
}
