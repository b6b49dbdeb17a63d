import { Effect, Latch } from "effect"
import { reasonOf, type Unread } from "./calls.ts"

/** Whether what this node has told Redis and what Redis has told this node can be trusted. */
export class Trust {
  readonly #wake: () => void
  readonly #steady = Latch.makeUnsafe(false)
  #isDirty = true
  #isTrusted = false
  #isComparing = false
  #comparisons = 0

  /** `wake` is called when there is something to compare. */
  constructor(wake: () => void) {
    this.#wake = wake
  }

  /** Waits until both can be trusted. */
  get steady(): Effect.Effect<void> {
    return this.#steady.await
  }

  /** Both can be trusted. */
  get isTrusted(): boolean {
    return this.#isTrusted
  }

  /** Everything has to be compared. */
  get isDirty(): boolean {
    return this.#isDirty
  }

  /** The nodes come back: what is in Redis is not yet everything. */
  get isComparing(): boolean {
    return this.#isComparing
  }

  /** How often everything has been compared. */
  get comparisons(): number {
    return this.#comparisons
  }

  /** Something may be missing there or here: compare everything as soon as Redis answers. */
  distrust(): void {
    this.#isDirty = true
    this.#isTrusted = false
    this.#steady.closeUnsafe()
    this.#wake()
  }

  /** Distrusts when an effect fails: what Redis was asked it may have done or not. */
  distrusting<A>(effect: Effect.Effect<A, Unread>): Effect.Effect<A, Unread> {
    return Effect.tapError(effect, (error) =>
      Effect.andThen(
        Effect.logDebug("the office registry did not answer", { reason: reasonOf(error) }),
        Effect.sync(() => this.distrust())
      )
    )
  }

  /** A comparison begins. */
  begin(): void {
    this.#isDirty = false
    this.#isComparing = true
    this.#comparisons++
  }

  /** All nodes have had the time to come back, or the comparison has failed. */
  comeBack(): void {
    this.#isComparing = false
  }

  /** Everything has been compared: trusts again, unless something has happened meanwhile. */
  end(): boolean {
    if (this.#isDirty) return false
    this.#isTrusted = true
    this.#steady.openUnsafe()
    return true
  }
}
