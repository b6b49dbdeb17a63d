import type { Writable } from "node:stream"

/** Bytes of a write: the network reports only whole ones, and a slow reader must be seen to read. */
export const maxWriteBytes = 256 * 1024

const progress = new WeakMap<Writable, { waitingBytes: number; sentBytes: number }>()

/** Bytes that wait for a write of {@link writeInParts}, and those that the network has taken. */
export const writeProgressOf = (target: Writable) => progress.get(target) ?? { waitingBytes: 0, sentBytes: 0 }

/**
 * Writes a body in parts, each when the network has taken the one before; the last one ends the target unless `isEnd` is
 * false. `onWritten` gets the bytes of each part, and `true` with the last one or an error.
 */
export const writeInParts = (
  target: Writable,
  body: Uint8Array,
  onWritten: (bytes: number, isDone: boolean) => void = () => undefined,
  isEnd = true
): void => {
  const state = writeProgressOf(target)
  progress.set(target, state)
  state.waitingBytes += body.length
  const writeFrom = (at: number): void => {
    const part = body.subarray(at, at + maxWriteBytes)
    const isLast = at + part.length === body.length
    const onTaken = (error?: Error | null) => {
      if (error) return onWritten(0, true)
      state.sentBytes += part.length
      onWritten(part.length, isLast)
      return isLast ? undefined : writeFrom(at + part.length)
    }
    state.waitingBytes -= part.length
    if (isLast && isEnd) target.end(part, onTaken)
    else target.write(part, onTaken)
  }
  writeFrom(0)
}
