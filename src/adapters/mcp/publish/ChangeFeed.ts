import { Effect, Exit, Latch, RcMap, Scope, Semaphore, Stream } from "effect"
import type { McpChange, McpSession, McpWatchOptions } from "../../../application/ports/McpSession.ts"
import { asObject, isJsonObject } from "../../../domain/json.ts"
import { jsonRpcError, toJsonRpcError } from "./jsonRpcErrors.ts"

/** Changes within this interval are sent as one notification of each kind. */
const coalesceInterval = "100 millis"

const keyOf = (change: McpChange) => (change._tag === "ResourceUpdated" ? `${change._tag} ${change.uri}` : change._tag)

/** Watches a session until the scope closes. Fails when the session cannot watch its listings. */
export const makeChangeFeed = Effect.fnUntraced(function* (session: McpSession) {
  const { prompts = false, resources, tools } = session.info.capabilities
  const subscribers = new Set<(change: McpChange) => void>()

  const broadcast = (change: McpChange) => Effect.sync(() => subscribers.forEach((add) => add(change)))
  const watch = Effect.fnUntraced(function* (wanted: McpWatchOptions) {
    yield* Effect.forkScoped(Stream.runForEach(yield* session.watch(wanted), broadcast))
  })
  if (tools || resources || prompts) yield* watch({ tools, resources, prompts, uris: [] })
  const watchedResources = yield* RcMap.make({
    lookup: (uri: string) => watch({ tools: false, resources: false, uris: [uri] })
  })

  /** Reports changes until the scope closes, coalesced per kind and resource. */
  const subscribe = Effect.fnUntraced(function* (onChange: (change: McpChange) => Effect.Effect<void>) {
    /** The unsent changes, at most one per kind and resource. */
    const pending = new Map<string, McpChange>()
    const changed = Latch.makeUnsafe()
    const add = (change: McpChange) => {
      pending.set(keyOf(change), change)
      changed.openUnsafe()
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => subscribers.add(add)),
      () => Effect.sync(() => subscribers.delete(add))
    )
    const deliver = Effect.gen(function* () {
      yield* changed.await
      yield* Effect.sleep(coalesceInterval)
      const changes = [...pending.values()]
      pending.clear()
      changed.closeUnsafe()
      yield* Effect.forEach(changes, onChange, { discard: true })
    })
    yield* Effect.forkScoped(Effect.forever(deliver))
  })

  /** Watches a resource until the scope closes. Clients share one watch per resource. */
  const watchResource = (uri: string) => RcMap.get(watchedResources, uri)

  return { subscribe, watchResource }
})

export type ChangeFeed = Effect.Success<ReturnType<typeof makeChangeFeed>>

/** Maximum number of subscriptions of one client; each is a watch of the session. */
const maxSubscriptions = 1024

const tooManySubscriptions = jsonRpcError("internalError", `more than ${maxSubscriptions} resource subscriptions`)

/** Makes the subscriptions of one legacy client, whose members are idempotent. They end with the scope. */
export const makeResourceSubscriptions = Effect.fnUntraced(function* ({ watchResource }: ChangeFeed) {
  const parent = yield* Effect.scope
  const lock = yield* Semaphore.make(1)
  const scopes = new Map<string, Scope.Closeable>()

  const add = Effect.fnUntraced(function* (uri: string) {
    if (scopes.has(uri)) return
    if (scopes.size >= maxSubscriptions) return yield* tooManySubscriptions
    const scope = yield* Scope.fork(parent)
    yield* watchResource(uri).pipe(
      Scope.provide(scope),
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
    scopes.set(uri, scope)
  })
  const remove = Effect.fnUntraced(function* (uri: string) {
    const scope = scopes.get(uri)
    scopes.delete(uri)
    if (scope !== undefined) yield* Scope.close(scope, Exit.void)
  })
  return {
    add: (uri: string) => lock.withPermit(add(uri)),
    remove: (uri: string) => lock.withPermit(remove(uri)),
    has: (uri: string) => scopes.has(uri)
  }
})

/** The resources of a `subscriptions/listen` request; undefined for other messages. */
export const decodeListenRequest = (message: unknown): ReadonlyArray<string> | undefined => {
  if (!isJsonObject(message) || message["method"] !== "subscriptions/listen") return undefined
  const uris = asObject(asObject(message["params"])["notifications"])["resourceSubscriptions"]
  return Array.isArray(uris) ? [...new Set(uris)].filter((uri) => typeof uri === "string") : []
}

/** Watches the resources of a listen request until the scope closes. */
export const watchResources = ({ watchResource }: ChangeFeed, uris: ReadonlyArray<string>) =>
  uris.length > maxSubscriptions
    ? Effect.fail(tooManySubscriptions)
    : Effect.mapError(Effect.forEach(uris, watchResource, { discard: true }), toJsonRpcError)
