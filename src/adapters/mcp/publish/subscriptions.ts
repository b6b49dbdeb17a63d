import { Effect, Exit, Scope, Semaphore } from "effect"
import { isJsonObject } from "../../../domain/json.ts"
import { Refusal, refusalOf, type Subscriptions } from "./answers.ts"
import type { Changes } from "./Changes.ts"

/** How many resources one client may follow: more than any shows, and each is watched for it. */
const mostFollowed = 1024

const tooMany = new Refusal({
  code: -32603,
  message: `no more than ${mostFollowed} resources can be followed`
})

/** The subscriptions of one client of the revisions that have a session; they end with the scope. */
export const makeSubscriptions = Effect.fnUntraced(function* ({ follow }: Pick<Changes, "follow">) {
  const parent = yield* Effect.scope
  const oneAtATime = yield* Semaphore.make(1)
  const followed = new Map<string, Scope.Closeable>()

  const add = Effect.fnUntraced(function* (uri: string) {
    if (followed.has(uri)) return
    if (followed.size >= mostFollowed) return yield* tooMany
    const scope = yield* Scope.fork(parent)
    yield* follow(uri).pipe(
      Scope.provide(scope),
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
    followed.set(uri, scope)
  })
  const remove = Effect.fnUntraced(function* (uri: string) {
    const scope = followed.get(uri)
    followed.delete(uri)
    if (scope !== undefined) yield* Scope.close(scope, Exit.void)
  })
  const subscriptions: Subscriptions = {
    add: (uri) => oneAtATime.withPermit(add(uri)),
    remove: (uri) => oneAtATime.withPermit(remove(uri))
  }
  return { ...subscriptions, has: (uri: string) => followed.has(uri) }
})

/** The resources that a request to listen asks for, or undefined when the message is none. */
export const listenedTo = (message: unknown): ReadonlyArray<string> | undefined => {
  if (!isJsonObject(message) || message["method"] !== "subscriptions/listen") return undefined
  const params = isJsonObject(message["params"]) ? message["params"] : {}
  const wanted = isJsonObject(params["notifications"]) ? params["notifications"] : {}
  const uris: unknown = wanted["resourceSubscriptions"]
  return Array.isArray(uris) ? [...new Set(uris)].filter((uri) => typeof uri === "string") : []
}

/** Follows what a request to listen asks for, until the scope closes. */
export const followAll = (
  { follow }: Pick<Changes, "follow">,
  uris: ReadonlyArray<string>
): Effect.Effect<void, Refusal, Scope.Scope> =>
  uris.length > mostFollowed
    ? Effect.fail(tooMany)
    : Effect.mapError(Effect.forEach(uris, follow, { discard: true }), refusalOf)
