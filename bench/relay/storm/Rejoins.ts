import type { OfficeStatus } from "../../../src/application/computer/office/OfficeConnection.ts"

/** The members that must join again after the end of their Server. */
export class Rejoins {
  #missing = new Set<string>()
  #onComplete: (at: number) => void = () => undefined

  /** Resolves with the time of the last join, once all these members have joined from now on. */
  complete(names: ReadonlyArray<string>): Promise<number> {
    this.#missing = new Set(names)
    const { promise, resolve } = Promise.withResolvers<number>()
    this.#onComplete = resolve
    return promise
  }

  update(name: string, { _tag }: OfficeStatus): void {
    // A member that loses its new connection must join once more.
    if (_tag !== "Joined") this.#missing.add(name)
    else if (this.#missing.delete(name) && this.#missing.size === 0) this.#onComplete(performance.now())
  }

  get missing(): ReadonlyArray<string> {
    return [...this.#missing]
  }
}
