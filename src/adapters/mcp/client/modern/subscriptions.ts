import { Clock, Deferred, Effect, Exit, Queue, Result } from "effect"
import type { McpChange, McpSessionError, McpWatchOptions } from "../../../../application/ports/McpSession.ts"
import type { JsonObject } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import { sessionError } from "../../sessionError.ts"
import { allChanges, maxPendingChanges } from "../mcpMessages.ts"
import type { PollableWatch } from "../resourcePolling.ts"
import type { ModernClient } from "./ModernClient.ts"

/**
 * The delay doubles up to `maxDelay` and resets after a subscription that lasted `stableAfter`. After `maxFailures`
 * rejected subscriptions in a row the session is lost. Times are in milliseconds.
 */
const resubscribeBackoff = { initialDelay: 1000, maxDelay: 30_000, stableAfter: 60_000, maxFailures: 5 }

const endedBeforeAccepted = sessionError("protocol", "MCP server closed the subscription before it accepted it")

const toSubscriptionFilter = ({ prompts, resources, tools, uris }: McpWatchOptions): JsonObject => ({
  ...(tools && { toolsListChanged: true }),
  ...(prompts === true && { promptsListChanged: true }),
  ...(resources && { resourcesListChanged: true }),
  ...(uris.length > 0 && { resourceSubscriptions: uris })
})

/** The targets without a subscription, which can be polled. */
export const unservedTargets = ({ resources, uris }: McpWatchOptions, honoured: JsonObject): PollableWatch => {
  const honouredUris = honoured["resourceSubscriptions"]
  return {
    resources: resources && honoured["resourcesListChanged"] !== true,
    uris: uris.filter((uri) => !Array.isArray(honouredUris) || !honouredUris.includes(uri))
  }
}

const hasSubscriptions = ({
  promptsListChanged,
  resourceSubscriptions,
  resourcesListChanged,
  toolsListChanged
}: JsonObject): boolean =>
  [promptsListChanged, resourcesListChanged, toolsListChanged].includes(true) ||
  (Array.isArray(resourceSubscriptions) && resourceSubscriptions.length > 0)

/** Whether the server dropped a list-changed subscription. Resource subscriptions may end legitimately. */
const hasLostListChanged = (before: JsonObject, now: JsonObject): boolean =>
  ["toolsListChanged", "promptsListChanged", "resourcesListChanged"].some(
    (kind) => before[kind] === true && now[kind] !== true
  )

/**
 * Subscribes until the scope closes. After a resubscription everything counts as changed, because notifications may
 * have been missed. `honoured` is what the server first accepted.
 */
export const subscribe = Effect.fnUntraced(function* ({ listen, markLost }: ModernClient, wanted: McpWatchOptions) {
  const changes = yield* Queue.sliding<McpChange>(maxPendingChanges)
  const first = yield* Deferred.make<JsonObject, McpSessionError>()
  const onChange = (change: McpChange) => void Queue.offerUnsafe(changes, change)

  const subscribeLoop = Effect.gen(function* () {
    let delay = resubscribeBackoff.initialDelay
    let failures = 0
    let before: JsonObject | undefined
    while (failures < resubscribeBackoff.maxFailures) {
      const began = yield* Clock.currentTimeMillis
      let accepted = false
      const onAccepted = (honoured: JsonObject): void => {
        accepted = true
        // A new session decides what to poll.
        if (before !== undefined && hasLostListChanged(before, honoured)) {
          return markLost("MCP server dropped a list-changed subscription")
        }
        before ??= honoured
        if (!Deferred.doneUnsafe(first, Exit.succeed(honoured))) Queue.offerAllUnsafe(changes, allChanges(wanted))
      }
      const end = yield* Effect.result(listen(toSubscriptionFilter(wanted), onAccepted, onChange))
      if (yield* Deferred.fail(first, Result.isFailure(end) ? end.failure : endedBeforeAccepted)) return
      if (!hasSubscriptions(yield* Deferred.await(first))) return
      failures = accepted ? 0 : failures + 1
      if (accepted && (yield* Clock.currentTimeMillis) - began >= resubscribeBackoff.stableAfter)
        delay = resubscribeBackoff.initialDelay
      yield* Effect.sleep(delay)
      delay = Math.min(2 * delay, resubscribeBackoff.maxDelay)
    }
    markLost("MCP subscription lost: resubscribe attempts exhausted")
  })
  yield* Effect.forkScoped(Effect.ignore(subscribeLoop))
  const honoured = Effect.catchIf(
    Deferred.await(first),
    ({ code }) => code === jsonRpcCodes.methodNotFound,
    () => Effect.succeed({})
  )
  return { changes, honoured: yield* honoured }
})
