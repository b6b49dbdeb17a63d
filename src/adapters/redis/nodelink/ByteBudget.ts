/** Limits the bytes that one node occupies, or all of them as their parent. */
export class ByteBudget {
  readonly #maxBytes: number
  readonly #parent: ByteBudget | undefined
  #usedBytes = 0

  constructor(maxBytes: number, parent?: ByteBudget) {
    this.#maxBytes = maxBytes
    this.#parent = parent
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Reserves bytes here and in the parent; false, without reserving any, when a budget is exceeded. */
  reserve(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#maxBytes || this.#parent?.reserve(bytes) === false) return false
    this.#usedBytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes
    this.#parent?.release(bytes)
  }
}
