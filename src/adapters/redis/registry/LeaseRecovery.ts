import { Duration, Effect } from "effect"
import type { RegistryContext } from "./RegistryContext.ts"
import type { RegistryEvents } from "./RegistryEvents.ts"

/** A node without renewal for this long is removed. With the heartbeat below, other nodes see that within 4 seconds. */
const lease = Duration.seconds(3)

export const heartbeatInterval = Duration.millis(700)

const maxConcurrentReads = 32

/** Keeps a node in the cluster and restores its members after an outage. The caller repeats the heartbeat. */
export interface LeaseRecovery {
  /** Renews the lease, or reconciles when out of sync. Never fails: the next heartbeat retries. */
  readonly heartbeat: Effect.Effect<void>
  readonly nodeCount: () => number
}

export const makeLeaseRecovery = (
  { gracePeriod, local, node, scripts, sync }: RegistryContext,
  events: RegistryEvents
): LeaseRecovery => {
  let nodeCount = 1

  const renew = Effect.gen(function* () {
    const [state, count] = yield* sync.outOfSyncOnError(scripts.renew(lease))
    if (state === "ok") nodeCount = count
    else {
      yield* Effect.logWarning("node lease expired", { node })
      sync.markOutOfSync()
    }
  })

  const waitWhileRenewing = Effect.fnUntraced(function* (millis: number) {
    for (let left = millis; left > 0; left -= Duration.toMillis(heartbeatInterval)) {
      yield* Effect.sleep(Math.min(left, Duration.toMillis(heartbeatInterval)))
      yield* renew
    }
  })

  /** Writes the members of this node to Redis, waits for the other nodes to do so, then reads all offices. */
  const reconcile = Effect.gen(function* () {
    sync.startReconciling()
    const { pendingJoins, joined } = local.reconcileState()
    const highestRevision = local.highestRevision()
    const [remainingMillis, count, losers] = yield* scripts.reconcile({
      lease,
      gracePeriod,
      highestRevision,
      joined,
      pendingJoins
    })
    nodeCount = count
    for (const sid of losers) local.evict(sid)
    yield* waitWhileRenewing(remainingMillis)
    sync.stopReconciling()
    yield* Effect.forEach(local.offices(), events.refresh, { concurrency: maxConcurrentReads, discard: true })
    if (sync.tryMarkInSync()) yield* Effect.logDebug("office registry in sync", { node, nodes: nodeCount })
  }).pipe(
    (reconciling) => sync.outOfSyncOnError(reconciling),
    Effect.ensuring(Effect.sync(() => sync.stopReconciling()))
  )

  return {
    heartbeat: Effect.suspend(() => Effect.ignore(sync.needsReconcile ? reconcile : renew)),
    nodeCount: () => nodeCount
  }
}
