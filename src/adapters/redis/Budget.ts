/** Bytes that may be held at most, by one or by all who share it. */
export class Budget {
  readonly #most: number
  #held = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Takes so many bytes; false, and none, when that is more than there may be. */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.#most) return false
    this.#held += bytes
    return true
  }

  /** Gives so many bytes back. */
  give(bytes: number): void {
    this.#held -= bytes
  }
}
