import { Effect, Queue, RcMap, type Scope, Stream } from "effect"
import type { McpChange, McpFailure, McpSession, McpWatch } from "../../../application/ports/McpSession.ts"

/** How long changes are gathered before they are told: a storm is told as one change of each kind. */
const gathering = "100 millis"

/** What changes in a published session, for any number of clients. */
export interface Changes {
  /**
   * Tells changes from now on until the scope closes: each kind, and each resource, at most once in a tenth of a
   * second, and the last one always. While the client is still being told, what follows is gathered.
   */
  readonly hear: (tell: (change: McpChange) => Effect.Effect<void>) => Effect.Effect<void, never, Scope.Scope>
  /** Watches the contents of a resource until the scope closes; once, however many clients follow it. */
  readonly follow: (uri: string) => Effect.Effect<void, McpFailure, Scope.Scope>
}

/** What a client has not been told yet; never more than one entry for each kind and each resource followed. */
interface Untold {
  readonly changes: Map<string, McpChange>
  /** Holds one item as long as there is something to tell. */
  readonly news: Queue.Queue<void>
}

const keyOf = (change: McpChange) =>
  change._tag === "ResourceUpdated" ? `${change._tag} ${change.uri}` : change._tag

/** Watches a session as long as the scope is open. Fails when the session cannot tell changes of its listings. */
export const makeChanges = Effect.fnUntraced(function* (
  session: McpSession
): Effect.fn.Return<Changes, McpFailure, Scope.Scope> {
  const { resources, tools } = session.info.capabilities
  const clients = new Set<Untold>()

  const spread = (change: McpChange) =>
    Effect.sync(() => {
      for (const { changes, news } of clients) {
        changes.set(keyOf(change), change)
        Queue.offerUnsafe(news, undefined)
      }
    })
  const watch = Effect.fnUntraced(function* (wanted: McpWatch) {
    yield* Effect.forkScoped(Stream.runForEach(yield* session.watch(wanted), spread))
  })
  if (tools || resources) yield* watch({ tools, resources, uris: [] })
  const followed = yield* RcMap.make({
    lookup: (uri: string) => watch({ tools: false, resources: false, uris: [uri] })
  })

  const hear: Changes["hear"] = Effect.fnUntraced(function* (tell) {
    const untold: Untold = { changes: new Map(), news: yield* Queue.sliding<void>(1) }
    yield* Effect.acquireRelease(
      Effect.sync(() => void clients.add(untold)),
      () => Effect.sync(() => void clients.delete(untold))
    )
    const telling = Effect.gen(function* () {
      yield* Queue.take(untold.news)
      yield* Effect.sleep(gathering)
      const changes = [...untold.changes.values()]
      untold.changes.clear()
      yield* Effect.forEach(changes, tell, { discard: true })
    })
    yield* Effect.forkScoped(Effect.forever(telling))
  })

  return { hear, follow: (uri) => RcMap.get(followed, uri) }
})
