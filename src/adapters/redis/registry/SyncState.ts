import { Effect, Latch } from "effect"
import { formatCallError, type RegistryCallError } from "./RegistryScripts.ts"

/** Whether what this node has told Redis and what Redis has told this node can be trusted. */
export class SyncState {
  readonly #onOutOfSync: () => void
  readonly #inSyncLatch = Latch.makeUnsafe(false)
  #needsReconcile = true
  #isInSync = false
  #isReconciling = false
  #reconcileCount = 0

  /** `wake` is called when there is something to compare. */
  constructor(onOutOfSync: () => void) {
    this.#onOutOfSync = onOutOfSync
  }

  /** Waits until both can be trusted. */
  get awaitInSync(): Effect.Effect<void> {
    return this.#inSyncLatch.await
  }

  /** Both can be trusted. */
  get isInSync(): boolean {
    return this.#isInSync
  }

  /** Everything has to be compared. */
  get needsReconcile(): boolean {
    return this.#needsReconcile
  }

  /** The nodes come back: what is in Redis is not yet everything. */
  get isReconciling(): boolean {
    return this.#isReconciling
  }

  /** How often everything has been compared. */
  get reconcileCount(): number {
    return this.#reconcileCount
  }

  /** Something may be missing there or here: compare everything as soon as Redis answers. */
  markOutOfSync(): void {
    this.#needsReconcile = true
    this.#isInSync = false
    this.#inSyncLatch.closeUnsafe()
    this.#onOutOfSync()
  }

  /** Distrusts when an effect fails: what Redis was asked it may have done or not. */
  outOfSyncOnError<A>(effect: Effect.Effect<A, RegistryCallError>): Effect.Effect<A, RegistryCallError> {
    return Effect.tapError(effect, (error) =>
      Effect.andThen(
        Effect.logDebug("the office registry did not answer", { reason: formatCallError(error) }),
        Effect.sync(() => this.markOutOfSync())
      )
    )
  }

  /** A comparison begins. */
  startReconciling(): void {
    this.#needsReconcile = false
    this.#isReconciling = true
    this.#reconcileCount++
  }

  /** All nodes have had the time to come back, or the comparison has failed. */
  stopReconciling(): void {
    this.#isReconciling = false
  }

  /** Everything has been compared: trusts again, unless something has happened meanwhile. */
  tryMarkInSync(): boolean {
    if (this.#needsReconcile) return false
    this.#isInSync = true
    this.#inSyncLatch.openUnsafe()
    return true
  }
}
