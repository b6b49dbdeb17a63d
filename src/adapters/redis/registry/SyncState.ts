import { Effect, Latch } from "effect"
import type { RegistryCallError } from "./RegistryScripts.ts"

/** Tracks whether this node and Redis agree on all members. */
export const makeSyncState = (onOutOfSync: () => void) => {
  const inSync = Latch.makeUnsafe(false)
  let needsReconcile = true
  let isReconciling = false
  let reconcileCount = 0

  /** Requests a reconciliation as soon as Redis is connected. */
  const markOutOfSync = () => {
    needsReconcile = true
    inSync.closeUnsafe()
    onOutOfSync()
  }

  return {
    awaitInSync: inSync.await,
    isInSync: () => inSync.isOpen(),
    needsReconcile: () => needsReconcile,
    /** While nodes reconcile, Redis does not hold all members yet. */
    isReconciling: () => isReconciling,
    reconcileCount: () => reconcileCount,
    markOutOfSync,
    /** Marks the state as out of sync when a call fails, since Redis may have run it. */
    outOfSyncOnError: <A>(effect: Effect.Effect<A, RegistryCallError>) =>
      Effect.tapError(effect, (error) =>
        Effect.andThen(
          Effect.logDebug("office registry request failed", { reason: error.message }),
          Effect.sync(markOutOfSync)
        )
      ),
    startReconciling: () => {
      needsReconcile = false
      isReconciling = true
      reconcileCount++
    },
    /** Ends the grace period for other nodes, or a failed reconciliation. */
    stopReconciling: () => {
      isReconciling = false
    },
    /** Ends a reconciliation. False when another one is needed meanwhile. */
    tryMarkInSync: (): boolean => {
      if (!needsReconcile) inSync.openUnsafe()
      return !needsReconcile
    }
  }
}

export type SyncState = ReturnType<typeof makeSyncState>
