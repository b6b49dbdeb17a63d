import { SERVER_INFO_META_KEY, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Deferred, Effect, type Scope } from "effect"
import { listAllPages } from "../../../../application/shared/paging.ts"
import type { McpSession, McpSessionError } from "../../../../application/ports/McpSession.ts"
import { asObject, type JsonObject } from "../../../../domain/json.ts"
import type { StreamableParameters } from "../../../../domain/config/endpointParameters.ts"
import type { WrapFetch } from "../../oauth/Authorizer.ts"
import { sessionError } from "../../sessionError.ts"
import { makeHttpFetch } from "../http/HttpFetch.ts"
import { decodeInfo } from "../mcpMessages.ts"
import { makeModernClient, modernRevision } from "./ModernClient.ts"
import { watchModern } from "./watchModern.ts"
import { makeSessionRequests } from "../sessionRequests.ts"

const requireSupportedRevision = ({ supportedVersions }: JsonObject): Effect.Effect<void, McpSessionError> => {
  const supported = Array.isArray(supportedVersions) ? supportedVersions.map(String) : []
  return supported.includes(modernRevision)
    ? Effect.void
    : Effect.fail(sessionError("unavailable", `unsupported MCP revisions: ${supported.join(", ") || "unknown"}`))
}

/** Opens a session over MCP 2026-07-28. It closes when the server no longer responds. */
export const openModernSession = Effect.fnUntraced(function* (
  url: URL,
  { headers, sseReadTimeout, timeout }: StreamableParameters,
  wrap: WrapFetch
): Effect.fn.Return<McpSession, McpSessionError, Scope.Scope> {
  const fetch = wrap(yield* makeHttpFetch({ timeout, sseReadTimeout, resumable: false }))
  const client = yield* makeModernClient(
    new StreamableHTTPClientTransport(url, {
      ...(headers !== null && { requestInit: { headers: { ...headers } } }),
      fetch
    })
  )
  const { discover, request } = client
  const discovered = yield* discover
  yield* requireSupportedRevision(discovered)
  const { _meta, capabilities } = discovered
  const info = decodeInfo(modernRevision, {
    ...discovered,
    serverInfo: asObject(_meta)[SERVER_INFO_META_KEY]
  })
  const degraded = yield* Deferred.make<string>()

  const sessionRequests = yield* makeSessionRequests(request)
  const { listResources, readResource } = sessionRequests
  const { listChanged } = asObject(asObject(capabilities)["resources"])

  return {
    info,
    ...sessionRequests,
    watch: (wanted) =>
      watchModern(wanted, {
        client,
        source: { listResources: listAllPages(listResources), readResource },
        advertised: { subscribe: info.capabilities.subscribe, listChanged: listChanged === true },
        degraded
      }),
    ping: Effect.asVoid(discover),
    closed: Deferred.await(client.lost),
    degraded: Deferred.await(degraded)
  }
})
