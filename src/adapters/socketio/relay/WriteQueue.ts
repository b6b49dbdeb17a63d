import type { Writable } from "node:stream"
import { compactBytes } from "../../bytes/RawBody.ts"
import { maxWriteBytes } from "../../bytes/writeInParts.ts"
import { BacklogArena, minArenaBacklog } from "../connection/BacklogArena.ts"

interface WaitingBytes {
  bytes: Buffer
  readonly release: (() => void) | undefined
}

/** Bytes for a slow reader: each write waits until the network has taken the one before. */
export class WriteQueue {
  readonly #waiting: Array<WaitingBytes> = []
  #bytes = 0
  #arena: BacklogArena | undefined

  /** Bytes that no write has taken. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds the parts of a frame, `length` bytes together. */
  push(parts: ReadonlyArray<Buffer>, length: number): void {
    const stored = this.#bytes > minArenaBacklog ? (this.#arena ??= new BacklogArena()).store(parts, length) : undefined
    if (stored !== undefined) this.#waiting.push(stored)
    else for (const part of parts) this.#waiting.push({ bytes: compactBytes(part, 2), release: undefined })
    this.#bytes += length
  }

  /** Writes the next bytes, at least one waiting. Returns their number; `onWritten` runs when the network has taken them. */
  writeNext(target: Writable, onWritten: (error?: Error | null) => void): number {
    const { bytes, release } = this.#take()
    this.#bytes -= bytes.length
    target.write(bytes, (error) => {
      release?.()
      onWritten(error)
    })
    return bytes.length
  }

  clear(): void {
    for (const { release } of this.#waiting.splice(0)) release?.()
    this.#bytes = 0
  }

  /** Short frames are copied together: one write costs less than several. */
  #take(): WaitingBytes {
    const batch: Array<WaitingBytes> = []
    let length = 0
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const isLong = next.bytes.length > maxWriteBytes
      if (batch.length === 0 && isLong) {
        const bytes = next.bytes.subarray(0, maxWriteBytes)
        next.bytes = next.bytes.subarray(maxWriteBytes)
        return { bytes, release: undefined }
      }
      if (length + next.bytes.length > maxWriteBytes) break
      this.#waiting.shift()
      batch.push(next)
      length += next.bytes.length
    }
    const [first] = batch
    if (first !== undefined && batch.length === 1) return first
    const bytes = Buffer.concat(
      batch.map((one) => one.bytes),
      length
    )
    for (const { release } of batch) release?.()
    return { bytes, release: undefined }
  }
}
