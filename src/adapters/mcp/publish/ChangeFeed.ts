import { Effect, Queue, RcMap, type Scope, Stream } from "effect"
import type {
  McpChange,
  McpSessionError,
  McpSession,
  McpWatchOptions
} from "../../../application/ports/McpSession.ts"

/** How long changes are gathered before they are told: a storm is told as one change of each kind. */
const coalesceInterval = "100 millis"

/** What changes in a published session, for any number of clients. */
export interface ChangeFeed {
  /**
   * Tells changes from now on until the scope closes: each kind, and each resource, at most once in a tenth of a
   * second, and the last one always. While the client is still being told, what follows is gathered.
   */
  readonly subscribe: (
    onChange: (change: McpChange) => Effect.Effect<void>
  ) => Effect.Effect<void, never, Scope.Scope>
  /** Watches the contents of a resource until the scope closes; once, however many clients follow it. */
  readonly watchResource: (uri: string) => Effect.Effect<void, McpSessionError, Scope.Scope>
}

/** What a client has not been told yet; never more than one entry for each kind and each resource followed. */
interface PendingChanges {
  readonly changes: Map<string, McpChange>
  /** Holds one item as long as there is something to tell. */
  readonly wakeup: Queue.Queue<void>
}

const keyOf = (change: McpChange) =>
  change._tag === "ResourceUpdated" ? `${change._tag} ${change.uri}` : change._tag

/** Watches a session as long as the scope is open. Fails when the session cannot tell changes of its listings. */
export const makeChangeFeed = Effect.fnUntraced(function* (
  session: McpSession
): Effect.fn.Return<ChangeFeed, McpSessionError, Scope.Scope> {
  const { resources, tools } = session.info.capabilities
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
  if (tools || resources) yield* watch({ tools, resources, uris: [] })
  const watchedResources = yield* RcMap.make({
    lookup: (uri: string) => watch({ tools: false, resources: false, uris: [uri] })
  })

  const subscribe: ChangeFeed["subscribe"] = Effect.fnUntraced(function* (onChange) {
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

  return { subscribe, watchResource: (uri) => RcMap.get(watchedResources, uri) }
})
