import { SERVER_INFO_META_KEY, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Deferred, Effect, PubSub, type Scope, Stream } from "effect"
import { isWatched, type McpSession, type McpSessionError } from "../../../../application/ports/McpSession.ts"
import type { StreamableParameters } from "../../../../domain/config/endpointParameters.ts"
import { asObject } from "../../../../domain/json.ts"
import type { WrapFetch } from "../../oauth/Authorizer.ts"
import { sessionError } from "../../sessionError.ts"
import { makeHttpFetch, requestInit } from "../http/HttpFetch.ts"
import { allChanges, decodeInfo } from "../mcpMessages.ts"
import { pollWhen, subscriptionsRejected } from "../resourcePolling.ts"
import { makeSessionRequests } from "../sessionRequests.ts"
import { makeModernClient, modernRevision } from "./ModernClient.ts"
import { subscribe, unservedTargets } from "./subscriptions.ts"

/** Opens a session over MCP 2026-07-28. It closes when the server no longer responds. */
export const openModernSession = Effect.fnUntraced(function* (
  url: URL,
  { headers, sseReadTimeout, timeout }: StreamableParameters,
  wrap: WrapFetch
): Effect.fn.Return<McpSession, McpSessionError, Scope.Scope> {
  const fetch = wrap(yield* makeHttpFetch({ timeout, sseReadTimeout, resumable: false }))
  const client = yield* makeModernClient(new StreamableHTTPClientTransport(url, { ...requestInit(headers), fetch }))
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
  const requests = yield* makeSessionRequests(client.request, false)

  /** Watches for changes until the scope closes. Advertised subscriptions that the server does not accept are polled. */
  const watch: McpSession["watch"] = Effect.fnUntraced(function* (wanted) {
    if (allChanges(wanted).length === 0) return Stream.interruptWhen(Stream.never, lost)
    const logs = yield* PubSub.subscribe(client.logged)
    const { changes, honoured } = yield* subscribe(client, wanted)
    const { resources, uris } = unservedTargets(wanted, honoured)
    const unserved = { resources: resources && listChanged === true, uris }
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
    degraded: Deferred.await(degraded)
  }
})
