import { Clock, Deferred, Effect, Exit, Queue, Result, type Scope, Stream } from "effect"
import {
  isWatched,
  type McpChange,
  type McpSessionError,
  type McpWatchOptions
} from "../../../../application/ports/McpSession.ts"
import type { JsonObject } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import { sessionError } from "../../sessionError.ts"
import type { ModernClient } from "./ModernClient.ts"
import { type PollableWatch, pollWhen, type PollSource, subscriptionsRejected } from "../resourcePolling.ts"
import { maxPendingChanges, allChanges } from "../mcpMessages.ts"

/**
 * The delay doubles up to `maxDelay` and resets after a subscription that lasted `stableAfter`. After
 * `maxFailures` rejected subscriptions in a row the session is lost. Times are in milliseconds.
 */
const resubscribeBackoff = { initialDelay: 1000, maxDelay: 30_000, stableAfter: 60_000, maxFailures: 5 }

const endedBeforeAccepted = sessionError("protocol", "MCP server closed the subscription before it accepted it")

const subscriptionsUnsupported = sessionError("unsupported", "MCP server does not support resource subscriptions")

const toSubscriptionFilter = ({ resources, tools, uris }: McpWatchOptions): JsonObject => ({
  ...(tools && { toolsListChanged: true }),
  ...(resources && { resourcesListChanged: true }),
  ...(uris.length > 0 && { resourceSubscriptions: uris })
})

/** The targets without a subscription, which can be polled. */
const unservedTargets = ({ resources, uris }: McpWatchOptions, honoured: JsonObject): PollableWatch => {
  const honouredUris = honoured["resourceSubscriptions"]
  return {
    resources: resources && honoured["resourcesListChanged"] !== true,
    uris: uris.filter((uri) => !Array.isArray(honouredUris) || !honouredUris.includes(uri))
  }
}

const hasSubscriptions = ({ resourceSubscriptions, resourcesListChanged, toolsListChanged }: JsonObject): boolean =>
  toolsListChanged === true ||
  resourcesListChanged === true ||
  (Array.isArray(resourceSubscriptions) && resourceSubscriptions.length > 0)

/** Whether the server dropped a list-changed subscription. Resource subscriptions may end legitimately. */
const hasLostListChanged = (before: JsonObject, now: JsonObject): boolean =>
  ["toolsListChanged", "resourcesListChanged"].some((kind) => before[kind] === true && now[kind] !== true)

interface ModernWatchOptions {
  readonly client: ModernClient
  readonly source: PollSource
  /** The resource capabilities of the server. */
  readonly advertised: { readonly subscribe: boolean; readonly listChanged: boolean }
  readonly degraded: Deferred.Deferred<string>
}

/**
 * Watches for changes until the scope closes. After a resubscription everything counts as changed, because
 * notifications may have been missed. Advertised subscriptions that the server does not accept are polled.
 */
export const watchModern = Effect.fnUntraced(function* (
  wanted: McpWatchOptions,
  { degraded, client, advertised, source }: ModernWatchOptions
): Effect.fn.Return<Stream.Stream<McpChange>, McpSessionError, Scope.Scope> {
  const changes = yield* Queue.sliding<McpChange>(maxPendingChanges)
  const first = yield* Deferred.make<JsonObject, McpSessionError>()
  const filter = toSubscriptionFilter(wanted)

  const subscribeLoop = Effect.gen(function* () {
    let delay = resubscribeBackoff.initialDelay
    let failures = 0
    let before: JsonObject | undefined
    while (failures < resubscribeBackoff.maxFailures) {
      const began = yield* Clock.currentTimeMillis
      let accepted = false
      const end = yield* Effect.result(
        client.listen(filter, {
          onAccepted: (honoured) => {
            accepted = true
            if (before !== undefined && hasLostListChanged(before, honoured)) {
              // A new session decides what to poll.
              return client.markLost("MCP server dropped a list-changed subscription")
            }
            before ??= honoured
            if (Deferred.doneUnsafe(first, Exit.succeed(honoured))) return
            Queue.offerAllUnsafe(changes, allChanges(wanted))
          },
          onChange: (change) => void Queue.offerUnsafe(changes, change)
        })
      )
      if (yield* Deferred.fail(first, Result.isFailure(end) ? end.failure : endedBeforeAccepted)) return
      if (!hasSubscriptions(yield* Deferred.await(first))) return
      failures = accepted ? 0 : failures + 1
      if (accepted && (yield* Clock.currentTimeMillis) - began >= resubscribeBackoff.stableAfter)
        delay = resubscribeBackoff.initialDelay
      yield* Effect.sleep(delay)
      delay = Math.min(2 * delay, resubscribeBackoff.maxDelay)
    }
    client.markLost("MCP subscription lost: resubscribe attempts exhausted")
  })

  const lost = Deferred.await(client.lost)
  if (Object.keys(filter).length === 0) return Stream.interruptWhen(Stream.never, lost)
  yield* Effect.forkScoped(Effect.ignore(subscribeLoop))
  const honoured = yield* Effect.catchIf(
    Deferred.await(first),
    ({ code }) => code === jsonRpcCodes.methodNotFound,
    () => Effect.succeed({})
  )
  const { resources, uris } = unservedTargets(wanted, honoured)
  const unserved = { resources: resources && advertised.listChanged, uris }
  if (unserved.uris.length > 0 && !advertised.subscribe) return yield* subscriptionsUnsupported
  if (unserved.resources || unserved.uris.length > 0) yield* Deferred.succeed(degraded, subscriptionsRejected)
  const polled = yield* pollWhen(degraded, source, unserved)
  return Stream.fromQueue(changes).pipe(
    Stream.filter((change) => isWatched(wanted, change)),
    Stream.merge(polled),
    Stream.interruptWhen(lost)
  )
})
