/** Bytes that may be held at most, by one or by all who share it. */
export class ByteBudget {
  readonly #maxBytes: number
  #usedBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Takes so many bytes; false, and none, when that is more than there may be. */
  reserve(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#maxBytes) return false
    this.#usedBytes += bytes
    return true
  }

  /** Gives so many bytes back. */
  release(bytes: number): void {
    this.#usedBytes -= bytes
  }
}
