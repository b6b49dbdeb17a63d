import { SERVER_INFO_META_KEY, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Clock, Deferred, Effect, Exit, PubSub, Queue, Result, type Scope, Stream } from "effect"
import {
  isWatched,
  type McpChange,
  type McpSession,
  type McpSessionError,
  type McpWatchOptions,
  sessionError
} from "../../../../application/ports/McpSession.ts"
import type { StreamableParameters } from "../../../../domain/config/endpointParameters.ts"
import { asObject, type JsonObject } from "../../../../domain/json.ts"
import type { WrapFetch } from "../../oauth/Authorizer.ts"
import { makeHttpFetch, requestInit } from "../http/HttpFetch.ts"
import { allChanges, decodeInfo, maxPendingChanges, type SendRequest } from "../mcpMessages.ts"
import { httpNetwork } from "../../mcpTelemetry.ts"
import { pollWhen, subscriptionsRejected } from "../resourcePolling.ts"
import { makeSessionRequests } from "../sessionRequests.ts"
import { sendParamHeaders } from "./paramHeaders.ts"
import { makeModernClient, type ModernClient, modernRevision } from "./ModernClient.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"

/** In milliseconds: a year. */
const maxLifetime = 365 * 24 * 60 * 60 * 1000

/** Remembers how long the latest lists stay fresh (SEP-2549); the shortest time counts for all pages of a list. */
const makeListLifetimes = (send: SendRequest) => {
  const lifetimes = new Map<string, number>()
  const request: SendRequest = (method, params, handlers) => {
    const sent = send(method, params, handlers)
    if (!method.endsWith("/list")) return sent
    return Effect.tap(sent, ({ ttlMs }) =>
      Effect.sync(() => {
        const lifetime = typeof ttlMs === "number" ? Math.min(Math.max(0, ttlMs), maxLifetime) : 0
        const before = params["cursor"] === undefined ? lifetime : (lifetimes.get(method) ?? lifetime)
        lifetimes.set(method, Math.min(before, lifetime))
      })
    )
  }
  return { request, shortest: () => (lifetimes.size === 0 ? undefined : Math.min(...lifetimes.values())) }
}

/** Opens a session over MCP 2026-07-28. It closes when the server no longer responds. */
export const openModernSession = Effect.fnUntraced(function* (
  url: URL,
  { headers, sseReadTimeout, timeout }: StreamableParameters,
  wrap: WrapFetch
): Effect.fn.Return<McpSession, McpSessionError, Scope.Scope> {
  const fetch = wrap(yield* makeHttpFetch({ timeout, sseReadTimeout, resumable: false }))
  const transport = new StreamableHTTPClientTransport(url, { ...requestInit(headers), fetch })
  const withParamHeaders = sendParamHeaders(transport)
  const client = yield* makeModernClient(transport)
  const discovered = yield* client.discover
  const { _meta, capabilities, supportedVersions } = discovered
  const supported = Array.isArray(supportedVersions) ? supportedVersions.map(String) : []
  if (!supported.includes(modernRevision)) {
    return yield* sessionError("unavailable", `unsupported MCP revisions: ${supported.join(", ") || "unknown"}`)
  }
  const info = decodeInfo(modernRevision, { ...discovered, serverInfo: asObject(_meta)[SERVER_INFO_META_KEY] })
  const { listChanged } = asObject(asObject(capabilities)["resources"])
  const degraded = yield* Deferred.make<string>()
  const lost = Deferred.await(client.lost)
  const lifetimes = makeListLifetimes(client.request)
  const connection = { network: httpNetwork(url), version: modernRevision }
  const requests = withParamHeaders(yield* makeSessionRequests(lifetimes.request, false, connection))

  /** Watches for changes until the scope closes. Advertised subscriptions that the server does not accept are polled. */
  const watch: McpSession["watch"] = Effect.fnUntraced(function* (wanted) {
    if (allChanges(wanted).length === 0) return Stream.interruptWhen(Stream.never, lost)
    const logs = yield* PubSub.subscribe(client.logged)
    const { changes, honoured } = yield* subscribe(client, wanted)
    const { resourceSubscriptions: accepted, resourcesListChanged } = honoured
    const uris = wanted.uris.filter((uri) => !Array.isArray(accepted) || !accepted.includes(uri))
    const unserved = { resources: wanted.resources && listChanged === true && resourcesListChanged !== true, uris }
    if (uris.length > 0 && !info.capabilities.subscribe) {
      return yield* sessionError("unsupported", "MCP server does not support resource subscriptions")
    }
    if (unserved.resources || uris.length > 0) yield* Deferred.succeed(degraded, subscriptionsRejected)
    return Stream.fromQueue(changes).pipe(
      Stream.merge(Stream.fromSubscription(logs)),
      Stream.filter((change) => isWatched(wanted, change)),
      Stream.merge(yield* pollWhen(degraded, requests, unserved)),
      Stream.interruptWhen(lost)
    )
  })

  return {
    info,
    ...requests,
    watch,
    ping: client.ping,
    closed: lost,
    listLifetime: lifetimes.shortest,
    degraded: Deferred.await(degraded)
  }
})

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

const listKinds = ["toolsListChanged", "promptsListChanged", "resourcesListChanged"]

const hasSubscriptions = (honoured: JsonObject): boolean =>
  listKinds.some((kind) => honoured[kind] === true) || [honoured["resourceSubscriptions"] ?? []].flat().length > 0

/** Whether the server dropped a list-changed subscription. Resource subscriptions may end legitimately. */
const hasLostListChanged = (before: JsonObject, now: JsonObject): boolean =>
  listKinds.some((kind) => before[kind] === true && now[kind] !== true)

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
      const isStable = accepted && (yield* Clock.currentTimeMillis) - began >= resubscribeBackoff.stableAfter
      if (isStable) delay = resubscribeBackoff.initialDelay
      yield* Effect.sleep(delay)
      delay = Math.min(2 * delay, resubscribeBackoff.maxDelay)
    }
    markLost("MCP subscription lost: resubscribe attempts exhausted")
  })
  yield* Effect.forkScoped(Effect.ignore(subscribeLoop))
  const honoured = yield* Effect.catchIf(
    Deferred.await(first),
    (failure) => failure.code === jsonRpcCodes.methodNotFound || failure === endedBeforeAccepted,
    (): Effect.Effect<JsonObject> => Effect.succeed({})
  )
  return { changes, honoured }
})
