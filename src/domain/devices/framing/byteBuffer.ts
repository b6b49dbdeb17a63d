/**
 * Immutable byte buffer. Appending to the latest buffer of a store shares its memory; appending to an older one
 * copies. A stream that arrives byte by byte therefore takes linear time.
 */
export interface ByteBuffer {
  readonly store: { readonly memory: Uint8Array; writtenBytes: number }
  readonly length: number
}

export const emptyBuffer: ByteBuffer = { store: { memory: new Uint8Array(), writtenBytes: 0 }, length: 0 }

export const bytesOf = ({ length, store }: ByteBuffer): Uint8Array => store.memory.subarray(0, length)

/** Copies bytes, so the source can be garbage-collected. */
export const copyToBuffer = (bytes: Uint8Array): ByteBuffer => {
  if (bytes.length === 0) return emptyBuffer
  const memory = new Uint8Array(bytes.length)
  memory.set(bytes)
  return { store: { memory, writtenBytes: bytes.length }, length: bytes.length }
}

/** Appends bytes. The memory doubles when it is full, but grows beyond `maxCapacity` only when necessary. */
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
