import { Effect, Result } from "effect"
import type { RegistryChange } from "../../../application/ports/OfficeRegistry.ts"
import type { RegistryScripts, RegistryCallError } from "./RegistryScripts.ts"
import type { ApplyResult, LocalOffices } from "./LocalOffices.ts"
import { decodeMessage, membershipOfField } from "./registryMessages.ts"
import type { SyncState } from "./SyncState.ts"

/** What {@link makeRegistryEvents} needs. */
export interface RegistryEventsOptions {
  readonly local: LocalOffices
  readonly sync: SyncState
  readonly scripts: RegistryScripts
  readonly emit: (change: RegistryChange) => void
  readonly run: (effect: Effect.Effect<void>) => void
}

/** What Redis tells a node of the offices, and what the node asks for where something is missing. */
export interface RegistryEvents {
  /** Takes a message of the node's channel. */
  readonly onMessage: (text: string) => void
  /** Reads an office anew. Whoever asks while it is read waits for nobody: it is read once more. */
  readonly refresh: (office: string) => Effect.Effect<void, RegistryCallError>
}

export const makeRegistryEvents = ({
  scripts,
  local,
  run,
  emit,
  sync
}: RegistryEventsOptions): RegistryEvents => {
  const inFlight = new Map<string, { again: boolean }>()

  const onApplied = (office: string, result: ApplyResult) => {
    if (result === "stray") sync.markOutOfSync()
    if (result === "missed" && !sync.isReconciling) run(Effect.ignore(refresh(office)))
  }

  const refresh: RegistryEvents["refresh"] = (office) =>
    Effect.suspend(() => {
      const pending = inFlight.get(office)
      if (pending !== undefined) {
        pending.again = true
        return Effect.void
      }
      const own = { again: false }
      inFlight.set(office, own)
      const readSnapshot = Effect.map(scripts.snapshot(office), ([known, asOf, revision, members]) => {
        // Our members are missing there because this node was taken for dead, and not because they have left.
        if (known === "gone") sync.markOutOfSync()
        else if (local.needsReplica(office))
          onApplied(office, local.applySnapshot(office, { asOf, revision, members }))
      })
      const readUntilCurrent = Effect.suspend((): Effect.Effect<void, RegistryCallError> => {
        own.again = false
        return Effect.flatMap(readSnapshot, () => (own.again ? readUntilCurrent : Effect.void))
      })
      return sync
        .outOfSyncOnError(readUntilCurrent)
        .pipe(Effect.ensuring(Effect.sync(() => inFlight.delete(office))))
    })

  const onMessage = (text: string) => {
    const decoded = decodeMessage(text)
    if (Result.isFailure(decoded)) {
      run(Effect.logWarning("a message of the office registry cannot be read", decoded.failure))
      return
    }
    const message = decoded.success
    if ("gone" in message) return emit({ _tag: "NodeLost", node: message.gone })
    const { office, to: toRevision } = message
    if ("all" in message) {
      // While the nodes come back what is there is not yet everything: those who are missing have not left.
      if (sync.isReconciling && local.hasReplica(office)) return
      onApplied(
        office,
        local.applySnapshot(office, { revision: toRevision, asOf: toRevision, members: message.all })
      )
      return
    }
    const { from: fromRevision } = message
    if ("entered" in message) {
      onApplied(
        office,
        local.applyChange(office, {
          fromRevision,
          toRevision,
          change: { _tag: "Entered", member: message.entered }
        })
      )
      return
    }
    const { field, replaced, sid } = message.left
    const change = { _tag: "Left", sid, membership: membershipOfField(office, field), replaced } as const
    onApplied(office, local.applyChange(office, { fromRevision, toRevision, change }))
  }

  return { onMessage, refresh }
}
