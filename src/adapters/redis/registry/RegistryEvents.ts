import { Effect, Result } from "effect"
import type { OfficeUpdate } from "../../../domain/office/OfficeReplica.ts"
import type { ApplyResult } from "./LocalOffices.ts"
import type { RegistryContext } from "./RegistryContext.ts"
import { decodeMessage, membershipOfField } from "./registryMessages.ts"
import type { RegistryCallError } from "./RegistryScripts.ts"

/** Applies the changes that Redis publishes, and reads snapshots where changes were missed. */
export interface RegistryEvents {
  readonly onMessage: (text: string) => void
  /** Reads a snapshot of an office. A call during a read returns at once and repeats the read. */
  readonly refresh: (office: string) => Effect.Effect<void, RegistryCallError>
}

export const makeRegistryEvents = ({ emit, local, run, scripts, sync }: RegistryContext): RegistryEvents => {
  const inFlight = new Map<string, { again: boolean }>()

  const onApplied = (office: string, result: ApplyResult) => {
    if (result === "orphan") sync.markOutOfSync()
    if (result === "gap" && !sync.isReconciling) run(Effect.ignore(refresh(office)))
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
      const readSnapshot = Effect.map(scripts.snapshot(office), ([state, asOf, revision, members]) => {
        // The members of this node are missing because its lease expired, not because they left.
        if (state === "unknown_node") sync.markOutOfSync()
        else if (local.needsReplica(office)) onApplied(office, local.applySnapshot(office, { asOf, revision, members }))
      })
      const readUntilCurrent = Effect.suspend((): Effect.Effect<void, RegistryCallError> => {
        own.again = false
        return Effect.flatMap(readSnapshot, () => (own.again ? readUntilCurrent : Effect.void))
      })
      return sync.outOfSyncOnError(readUntilCurrent).pipe(Effect.ensuring(Effect.sync(() => inFlight.delete(office))))
    })

  const applyChange = (office: string, update: OfficeUpdate) => onApplied(office, local.applyChange(office, update))

  const onMessage = (text: string) => {
    const decoded = decodeMessage(text)
    if (Result.isFailure(decoded)) {
      run(Effect.logWarning("invalid registry message", decoded.failure))
      return
    }
    const message = decoded.success
    if ("gone" in message) return emit({ _tag: "NodeLost", node: message.gone })
    const { office, to: toRevision } = message
    if ("all" in message) {
      // While nodes reconcile, Redis does not hold all members yet: those that are missing have not left.
      if (sync.isReconciling && local.hasReplica(office)) return
      const snapshot = { revision: toRevision, asOf: toRevision, members: message.all }
      return onApplied(office, local.applySnapshot(office, snapshot))
    }
    const { from: fromRevision } = message
    if ("entered" in message) {
      const change = { _tag: "Entered", member: message.entered } as const
      return applyChange(office, { fromRevision, toRevision, change })
    }
    const { field, replaced, sid } = message.left
    const change = { _tag: "Left", sid, membership: membershipOfField(office, field), replaced } as const
    applyChange(office, { fromRevision, toRevision, change })
  }

  return { onMessage, refresh }
}
