import { Effect, Queue, RcMap, Stream } from "effect"
import type { McpChange, McpSession, McpWatchOptions } from "../../../application/ports/McpSession.ts"

/** Changes within this interval are sent as one notification of each kind. */
const coalesceInterval = "100 millis"

/** The unsent changes of one client, at most one per kind and resource. */
interface PendingChanges {
  readonly changes: Map<string, McpChange>
  readonly wakeup: Queue.Queue<void>
}

const keyOf = (change: McpChange) => (change._tag === "ResourceUpdated" ? `${change._tag} ${change.uri}` : change._tag)

/** Watches a session until the scope closes. Fails when the session cannot watch its listings. */
export const makeChangeFeed = Effect.fnUntraced(function* (session: McpSession) {
  const { prompts = false, resources, tools } = session.info.capabilities
  const subscribers = new Set<PendingChanges>()

  const broadcast = (change: McpChange) =>
    Effect.sync(() => {
      for (const { changes, wakeup } of subscribers) {
        changes.set(keyOf(change), change)
        Queue.offerUnsafe(wakeup, undefined)
      }
    })
  const watch = Effect.fnUntraced(function* (wanted: McpWatchOptions) {
    yield* Effect.forkScoped(Stream.runForEach(yield* session.watch(wanted), broadcast))
  })
  if (tools || resources || prompts) yield* watch({ tools, resources, prompts, uris: [] })
  const watchedResources = yield* RcMap.make({
    lookup: (uri: string) => watch({ tools: false, resources: false, uris: [uri] })
  })

  /** Reports changes until the scope closes, coalesced per kind and resource. */
  const subscribe = Effect.fnUntraced(function* (onChange: (change: McpChange) => Effect.Effect<void>) {
    const pending: PendingChanges = { changes: new Map(), wakeup: yield* Queue.sliding<void>(1) }
    yield* Effect.acquireRelease(
      Effect.sync(() => void subscribers.add(pending)),
      () => Effect.sync(() => void subscribers.delete(pending))
    )
    const deliver = Effect.gen(function* () {
      yield* Queue.take(pending.wakeup)
      yield* Effect.sleep(coalesceInterval)
      const changes = [...pending.changes.values()]
      pending.changes.clear()
      yield* Effect.forEach(changes, onChange, { discard: true })
    })
    yield* Effect.forkScoped(Effect.forever(deliver))
  })

  /** Watches a resource until the scope closes. Clients share one watch per resource. */
  const watchResource = (uri: string) => RcMap.get(watchedResources, uri)

  return { subscribe, watchResource }
})

export type ChangeFeed = Effect.Success<ReturnType<typeof makeChangeFeed>>
