import { type Duration, Effect, Latch, Result } from "effect"
import type { OfficeKey } from "../../../domain/model/ids.ts"
import type { RegistryChange } from "../../../application/ports/OfficeRegistry.ts"
import type { MembershipChange } from "../../../domain/office/OfficeReplica.ts"
import type { ApplyResult, LocalOffices } from "./LocalOffices.ts"
import { decodeMessage, membershipOfField, type RegistryCallError, type RegistryScripts } from "./RegistryScripts.ts"

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

/** What the parts of one registry share. */
export interface RegistryContext {
  readonly node: string
  readonly gracePeriod: Duration.Duration
  readonly local: LocalOffices
  readonly sync: ReturnType<typeof makeSyncState>
  readonly scripts: RegistryScripts
  readonly isReady: () => boolean
  readonly emit: (change: RegistryChange) => void
  readonly run: (effect: Effect.Effect<void>) => void
}

/** Applies the changes that Redis publishes, and reads snapshots where changes were missed. */
export const makeRegistryEvents = ({ emit, local, run, scripts, sync }: RegistryContext) => {
  /** The offices whose snapshot is being read: true for those to read again. */
  const reading = new Map<OfficeKey, boolean>()

  const onApplied = (office: OfficeKey, result: ApplyResult) => {
    if (result === "orphan") sync.markOutOfSync()
    if (result === "gap" && !sync.isReconciling()) run(Effect.ignore(refresh(office)))
  }

  /** Reads a snapshot of an office. A call during a read returns at once and repeats the read. */
  const refresh = (office: OfficeKey): Effect.Effect<void, RegistryCallError> =>
    Effect.suspend(() => {
      if (reading.has(office)) {
        reading.set(office, true)
        return Effect.void
      }
      const readSnapshot = Effect.map(scripts.snapshot(office), ([state, asOf, revision, members]) => {
        // The members of this node are missing because its lease expired, not because they left.
        if (state === "unknown_node") sync.markOutOfSync()
        else if (local.needsReplica(office)) onApplied(office, local.applySnapshot(office, { asOf, revision, members }))
      })
      const markReading = Effect.sync(() => reading.set(office, false))
      const readUntilCurrent = Effect.repeat(Effect.andThen(markReading, readSnapshot), {
        while: () => reading.get(office) === true
      })
      return sync.outOfSyncOnError(readUntilCurrent).pipe(Effect.ensuring(Effect.sync(() => reading.delete(office))))
    })

  const onMessage = (text: string): void => {
    const decoded = decodeMessage(text)
    if (Result.isFailure(decoded)) return run(Effect.logWarning("invalid registry message", decoded.failure))
    const message = decoded.success
    if ("gone" in message) return emit({ _tag: "NodeLost", node: message.gone })
    const { office, to: toRevision } = message
    if ("all" in message) {
      // While nodes reconcile, Redis does not hold all members yet: those that are missing have not left.
      if (sync.isReconciling() && local.hasReplica(office)) return
      const { all: members } = message
      return onApplied(office, local.applySnapshot(office, { revision: toRevision, asOf: toRevision, members }))
    }
    const { from: fromRevision } = message
    const apply = (change: MembershipChange) =>
      onApplied(office, local.applyChange(office, { fromRevision, toRevision, change }))
    if ("entered" in message) return apply({ _tag: "Entered", member: message.entered })
    const { field, replaced, sid } = message.left
    apply({ _tag: "Left", sid, membership: membershipOfField(office, field), replaced })
  }

  return { onMessage, refresh }
}

export type RegistryEvents = ReturnType<typeof makeRegistryEvents>
