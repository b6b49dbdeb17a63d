import { Duration, Effect } from "effect"
import type { Calls } from "./calls.ts"
import type { LocalOffices } from "./LocalOffices.ts"
import type { News } from "./News.ts"
import type { Trust } from "./Trust.ts"

/** A node that has not renewed its lease for so long is dead; with the pulse below its leaves are told in 4 seconds. */
const lease = Duration.seconds(3)

/** How long a node waits between two signs of life. */
export const pulse = Duration.millis(700)

/** Offices that are read at once. */
const readers = 32

/** What {@link recoveryFor} needs. */
export interface RecoveryOptions {
  readonly node: string
  readonly local: LocalOffices
  readonly trust: Trust
  readonly calls: Calls
  readonly news: News
  /** How long nobody can join a registry that has just begun. */
  readonly settle: Duration.Duration
}

/** How a node stays a member of the cluster, and becomes one again. */
export interface Recovery {
  /** A sign of life; compares everything first when it has to. Never fails: the next one may do better. */
  readonly beat: Effect.Effect<void>
  /** Nodes in the cluster, as last heard. */
  readonly nodes: () => number
}

/** What keeps a node in the cluster: sending its signs of life is up to whoever has it. */
export const recoveryFor = ({ calls, local, news, node, settle, trust }: RecoveryOptions): Recovery => {
  let nodes = 1

  const renew = Effect.gen(function* () {
    const [state, count] = yield* trust.distrusting(calls.renew(lease))
    if (state === "ok") nodes = count
    else {
      yield* Effect.logWarning("the other nodes took this one for dead", { node })
      trust.distrust()
    }
  })

  /** Waits some milliseconds and stays alive for the others. */
  const lingering = Effect.fnUntraced(function* (millis: number) {
    for (let left = millis; left > 0; left -= Duration.toMillis(pulse)) {
      yield* Effect.sleep(Math.min(left, Duration.toMillis(pulse)))
      yield* renew
    }
  })

  /** Puts into Redis what this node knows of its members, then learns what Redis knows of the others'. */
  const recover = Effect.gen(function* () {
    trust.begin()
    const { changing, seated } = local.standing()
    const highest = local.highest()
    const [left, count, losers] = yield* calls.reconcile({ lease, settle, highest, seated, changing })
    nodes = count
    for (const sid of losers) local.evict(sid)
    yield* lingering(left)
    trust.comeBack()
    yield* Effect.forEach(local.offices(), news.refresh, { concurrency: readers, discard: true })
    if (trust.end()) yield* Effect.logDebug("the office registry is up", { node, nodes })
  }).pipe((recovering) => trust.distrusting(recovering), Effect.ensuring(Effect.sync(() => trust.comeBack())))

  return {
    beat: Effect.suspend(() => Effect.ignore(trust.isDirty ? recover : renew)),
    nodes: () => nodes
  }
}
