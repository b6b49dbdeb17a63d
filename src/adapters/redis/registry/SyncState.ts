import { Effect, Latch } from "effect"
import type { RegistryCallError } from "./RegistryScripts.ts"

/** Tracks whether this node and Redis agree on all members. */
export class SyncState {
  readonly #onOutOfSync: () => void
  readonly #inSyncLatch = Latch.makeUnsafe(false)
  #needsReconcile = true
  #isReconciling = false
  #reconcileCount = 0

  constructor(onOutOfSync: () => void) {
    this.#onOutOfSync = onOutOfSync
  }

  get awaitInSync(): Effect.Effect<void> {
    return this.#inSyncLatch.await
  }

  get isInSync(): boolean {
    return this.#inSyncLatch.isOpen()
  }

  get needsReconcile(): boolean {
    return this.#needsReconcile
  }

  /** While nodes reconcile, Redis does not hold all members yet. */
  get isReconciling(): boolean {
    return this.#isReconciling
  }

  get reconcileCount(): number {
    return this.#reconcileCount
  }

  /** Requests a reconciliation as soon as Redis is connected. */
  markOutOfSync(): void {
    this.#needsReconcile = true
    this.#inSyncLatch.closeUnsafe()
    this.#onOutOfSync()
  }

  /** Marks the state as out of sync when a call fails, since Redis may have run it. */
  outOfSyncOnError<A>(effect: Effect.Effect<A, RegistryCallError>): Effect.Effect<A, RegistryCallError> {
    return Effect.tapError(effect, (error) =>
      Effect.andThen(
        Effect.logDebug("office registry request failed", { reason: error.message }),
        Effect.sync(() => this.markOutOfSync())
      )
    )
  }

  startReconciling(): void {
    this.#needsReconcile = false
    this.#isReconciling = true
    this.#reconcileCount++
  }

  /** Ends the grace period for other nodes, or a failed reconciliation. */
  stopReconciling(): void {
    this.#isReconciling = false
  }

  /** Ends a reconciliation. False when another one is needed meanwhile. */
  tryMarkInSync(): boolean {
    if (this.#needsReconcile) return false
    this.#inSyncLatch.openUnsafe()
    return true
  }
}
