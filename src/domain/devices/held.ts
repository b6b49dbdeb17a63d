/** Memory that only ever grows at its end: what has been written stays, so that many values may look at it. */
interface Store {
  readonly memory: Uint8Array
  /** How many bytes have been written, by whomever. */
  written: number
}

/**
 * Bytes kept for later. A value never changes; appending gives a new one, which shares the memory of the old one when
 * that one was the last, and copies when somebody else has appended to it already. So a stream that arrives byte by
 * byte costs time proportional to its length.
 */
export interface Held {
  readonly store: Store
  readonly length: number
}

/** No bytes. */
export const nothing: Held = { store: { memory: new Uint8Array(), written: 0 }, length: 0 }

/** What is held, as a view. */
export const view = ({ length, store }: Held): Uint8Array => store.memory.subarray(0, length)

/** How much memory a value takes. */
export const capacity = (held: Held): number => held.store.memory.length

/** A copy of bytes, and nothing but them: whatever they are a part of can go. */
export const hold = (bytes: Uint8Array): Held => {
  if (bytes.length === 0) return nothing
  const memory = new Uint8Array(bytes.length)
  memory.set(bytes)
  return { store: { memory, written: bytes.length }, length: bytes.length }
}

/**
 * Puts bytes at the end. Memory grows by doubling, but not beyond `most` bytes as long as that is enough: whoever
 * knows how much it will hold wastes nothing.
 */
export const append = (held: Held, bytes: Uint8Array, most: number): Held => {
  const { length, store } = held
  const needed = length + bytes.length
  const inPlace = store.written === length && needed <= store.memory.length
  const end = inPlace
    ? store
    : { memory: new Uint8Array(Math.max(needed, Math.min(2 * needed, most))), written: 0 }
  if (!inPlace) end.memory.set(view(held))
  end.memory.set(bytes, length)
  end.written = needed
  return { store: end, length: needed }
}
