/** Memory that only ever grows at its end: what has been written stays, so that many values may look at it. */
interface BufferStore {
  readonly memory: Uint8Array
  /** How many bytes have been written, by whomever. */
  writtenBytes: number
}

/**
 * Bytes kept for later. A value never changes; appending gives a new one, which shares the memory of the old one when
 * that one was the last, and copies when somebody else has appended to it already. So a stream that arrives byte by
 * byte costs time proportional to its length.
 */
export interface ByteBuffer {
  readonly store: BufferStore
  readonly length: number
}

/** No bytes. */
export const emptyBuffer: ByteBuffer = { store: { memory: new Uint8Array(), writtenBytes: 0 }, length: 0 }

/** What is held, as a view. */
export const bytesOf = ({ length, store }: ByteBuffer): Uint8Array => store.memory.subarray(0, length)

/** A copy of bytes, and nothing but them: whatever they are a part of can go. */
export const copyToBuffer = (bytes: Uint8Array): ByteBuffer => {
  if (bytes.length === 0) return emptyBuffer
  const memory = new Uint8Array(bytes.length)
  memory.set(bytes)
  return { store: { memory, writtenBytes: bytes.length }, length: bytes.length }
}

/**
 * Puts bytes at the end. Memory grows by doubling, but not beyond `most` bytes as long as that is enough: whoever
 * knows how much it will hold wastes nothing.
 */
export const appendBytes = (buffer: ByteBuffer, bytes: Uint8Array, maxCapacity: number): ByteBuffer => {
  const { length, store } = buffer
  const needed = length + bytes.length
  const fitsInPlace = store.writtenBytes === length && needed <= store.memory.length
  const target = fitsInPlace
    ? store
    : { memory: new Uint8Array(Math.max(needed, Math.min(2 * needed, maxCapacity))), writtenBytes: 0 }
  if (!fitsInPlace) target.memory.set(bytesOf(buffer))
  target.memory.set(bytes, length)
  target.writtenBytes = needed
  return { store: target, length: needed }
}
