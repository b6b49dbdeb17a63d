import type { Fail } from "./Peers.ts"

/** The pending calls of an Agent. */
export class Calls {
  readonly #waiting = new Map<number, () => void>()
  readonly #fail: Fail
  #last = 0

  constructor(fail: Fail) {
    this.#fail = fail
  }

  /** Adds a call and returns its number. */
  add(done: () => void): number {
    this.#last += 1
    this.#waiting.set(this.#last, done)
    return this.#last
  }

  /** Completes a call. */
  end(id: number, right: boolean, wrong: () => string): void {
    const done = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (done === undefined) this.#fail(`an answer came to call ${id}, which is not under way`)
    else if (right) done()
    else this.#fail(`the answer to call ${id} is wrong: ${wrong()}`)
  }
}
