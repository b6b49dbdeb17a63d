import { Duration, Effect } from "effect"
import type { RegistryContext } from "./RegistryContext.ts"
import type { RegistryEvents } from "./RegistryEvents.ts"

/** A node that has not renewed its lease for so long is dead; with the pulse below its leaves are told in 4 seconds. */
const lease = Duration.seconds(3)

/** How long a node waits between two signs of life. */
export const heartbeatInterval = Duration.millis(700)

/** Offices that are read at once. */
const maxConcurrentReads = 32

/** How a node stays a member of the cluster, and becomes one again. */
export interface LeaseRecovery {
  /** A sign of life; compares everything first when it has to. Never fails: the next one may do better. */
  readonly heartbeat: Effect.Effect<void>
  /** Nodes in the cluster, as last heard. */
  readonly nodeCount: () => number
}

/** What keeps a node in the cluster: sending its signs of life is up to whoever has it. */
export const makeLeaseRecovery = (
  { gracePeriod, local, node, scripts, sync }: RegistryContext,
  events: RegistryEvents
): LeaseRecovery => {
  let nodeCount = 1

  const renew = Effect.gen(function* () {
    const [state, count] = yield* sync.outOfSyncOnError(scripts.renew(lease))
    if (state === "ok") nodeCount = count
    else {
      yield* Effect.logWarning("the other nodes took this one for dead", { node })
      sync.markOutOfSync()
    }
  })

  /** Waits some milliseconds and stays alive for the others. */
  const waitWhileRenewing = Effect.fnUntraced(function* (millis: number) {
    for (let left = millis; left > 0; left -= Duration.toMillis(heartbeatInterval)) {
      yield* Effect.sleep(Math.min(left, Duration.toMillis(heartbeatInterval)))
      yield* renew
    }
  })

  /** Puts into Redis what this node knows of its members, then learns what Redis knows of the others'. */
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
    if (sync.tryMarkInSync()) yield* Effect.logDebug("the office registry is up", { node, nodes: nodeCount })
  }).pipe(
    (reconciling) => sync.outOfSyncOnError(reconciling),
    Effect.ensuring(Effect.sync(() => sync.stopReconciling()))
  )

  return {
    heartbeat: Effect.suspend(() => Effect.ignore(sync.needsReconcile ? reconcile : renew)),
    nodeCount: () => nodeCount
  }
}
