import { Duration, Effect } from "effect"
import type { RegistryContext, RegistryEvents } from "./RegistryEvents.ts"

/** A node without renewal for this long is removed. With the heartbeat below, other nodes see that within 4 seconds. */
const lease = Duration.seconds(3)

export const heartbeatMillis = 700

const maxConcurrentReads = 32

/** Keeps a node in the cluster and restores its members after an outage. The caller repeats the heartbeat. */
export const makeLeaseRecovery = (
  { gracePeriod, local, node, scripts, sync }: RegistryContext,
  events: RegistryEvents
) => {
  let nodes: ReadonlyArray<string> = [node]

  const renew = Effect.gen(function* () {
    const [state, current] = yield* sync.outOfSyncOnError(scripts.renew(lease))
    if (state === "ok") nodes = current
    else {
      yield* Effect.logWarning("node lease expired", { node })
      sync.markOutOfSync()
    }
  })

  /** Writes the members of this node to Redis, waits for the other nodes to do so, then reads all offices. */
  const reconcile = Effect.gen(function* () {
    sync.startReconciling()
    const [remainingMillis, current, losers] = yield* scripts.reconcile(lease, gracePeriod, local)
    nodes = current
    for (const sid of losers) local.evict(sid)
    for (let left = remainingMillis; left > 0; left -= heartbeatMillis) {
      yield* Effect.sleep(Math.min(left, heartbeatMillis))
      yield* renew
    }
    sync.stopReconciling()
    yield* Effect.forEach(local.offices(), events.refresh, { concurrency: maxConcurrentReads, discard: true })
    if (sync.tryMarkInSync()) yield* Effect.logDebug("office registry in sync", { node, nodes: nodes.length })
  }).pipe(sync.outOfSyncOnError, Effect.ensuring(Effect.sync(sync.stopReconciling)))

  return {
    /** Renews the lease, or reconciles when out of sync. */
    heartbeat: Effect.suspend(() => (sync.needsReconcile() ? reconcile : renew)),
    /** The nodes of the cluster as last reported, with this one. */
    nodes: () => nodes
  }
}
