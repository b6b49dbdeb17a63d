import { Effect, Exit, Scope, Semaphore } from "effect"
import { asObject, isJsonObject } from "../../../domain/json.ts"
import { type JsonRpcError, jsonRpcError, toJsonRpcError } from "./jsonRpcErrors.ts"
import type { ChangeFeed } from "./ChangeFeed.ts"

/** Maximum number of subscriptions of one client; each is a watch of the session. */
const maxSubscriptions = 1024

const tooManySubscriptions = jsonRpcError("internalError", `more than ${maxSubscriptions} resource subscriptions`)

/** Makes the subscriptions of one legacy client. They end with the scope. */
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
export const watchResources = (
  { watchResource }: ChangeFeed,
  uris: ReadonlyArray<string>
): Effect.Effect<void, JsonRpcError, Scope.Scope> =>
  uris.length > maxSubscriptions
    ? Effect.fail(tooManySubscriptions)
    : Effect.mapError(Effect.forEach(uris, watchResource, { discard: true }), toJsonRpcError)
