import { ByteBudget } from "./ByteBudget.ts"
import { firstFragment, lastFragment, maxFieldBytes, MessageReader } from "./messageFormat.ts"

/** Maximum of incomplete frames of one peer. */
const maxStreams = 1024

/** Ends the Socket.IO packet in which a body is relayed to a member. */
export const closeBracket = 0x5d

/** Maximum bytes of incomplete frames of one peer, given the maximum bytes of its send queue. */
export const maxReassemblyBytes = (maxQueuedBytes: number): number => maxQueuedBytes + maxStreams * (maxFieldBytes + 1)

interface PartialFrame {
  readonly fields: Buffer
  readonly tail: Buffer
  receivedBytes: number
}

/** `tail` is the text of the frame and a closing bracket. Without it the frame exceeded the budget and was dropped. */
const makeReassembledFrame = (fields: Buffer, tail: Buffer | undefined) => {
  const reader = new MessageReader(fields)
  return { kind: reader.u8(), fields: reader, tail }
}

/** Reassembles the fragmented frames of one peer. */
export class FrameReassembler {
  readonly #partialFrames = new Map<number, PartialFrame>()
  readonly #budget: ByteBudget

  /** `maxQueuedBytes` bounds the send queue of a node; all reassemblers share `clusterBudget`. */
  constructor(maxQueuedBytes: number, clusterBudget: ByteBudget) {
    this.#budget = new ByteBudget(maxReassemblyBytes(maxQueuedBytes), clusterBudget)
  }

  get size(): number {
    return this.#partialFrames.size
  }

  /** Adds a fragment. Returns the frame with its last fragment. Ignores fragments whose first one is missing. */
  onFragment(fragment: MessageReader) {
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

  discard(id: number): void {
    const partial = this.#partialFrames.get(id)
    if (partial === undefined) return
    this.#partialFrames.delete(id)
    this.#budget.release(partial.fields.length + partial.tail.length)
  }

  close(): void {
    for (const id of this.#partialFrames.keys()) this.discard(id)
  }

  /** Starts a frame and reserves its announced length; false when the budget is exceeded. */
  #start(id: number, fields: Buffer, length: number): boolean {
    this.discard(id)
    if (this.#partialFrames.size >= maxStreams || !this.#budget.reserve(fields.length + length + 1)) return false
    const tail = Buffer.allocUnsafeSlow(length + 1)
    // Copies the fields, since the fragment is a view of a whole message.
    this.#partialFrames.set(id, { fields: Buffer.from(fields), tail, receivedBytes: 0 })
    return true
  }
}
