import { SERVER_INFO_META_KEY, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Deferred, Effect, type Scope } from "effect"
import { listAllPages } from "../../../../application/shared/mcpPaging.ts"
import type { McpInfo, McpSession, McpSessionError } from "../../../../application/ports/McpSession.ts"
import { asObject, asString, type JsonObject } from "../../../../domain/json.ts"
import type { StreamableParameters } from "../../../../domain/config/endpointParameters.ts"
import type { WrapFetch } from "../../oauth/Authorizer.ts"
import { sessionError } from "../../sessionError.ts"
import { makeHttpFetch } from "../http/HttpFetch.ts"
import { makeModernClient, modernRevision } from "./ModernClient.ts"
import { watchModern } from "./watchModern.ts"
import { makeSessionRequests } from "../sessionRequests.ts"

const infoOf = ({ _meta, capabilities, instructions }: JsonObject): McpInfo => {
  const server = asObject(asObject(_meta)[SERVER_INFO_META_KEY])
  const { resources, tools } = asObject(capabilities)
  return {
    name: asString(server["name"]) ?? "unknown",
    version: asString(server["version"]) ?? "unknown",
    protocolVersion: modernRevision,
    capabilities: {
      tools: tools !== undefined,
      resources: resources !== undefined,
      subscribe: asObject(resources)["subscribe"] === true
    },
    instructions: asString(instructions)
  }
}

/** Refuses a server that speaks other revisions only. */
const requireSupportedRevision = ({
  supportedVersions
}: JsonObject): Effect.Effect<void, McpSessionError> => {
  const supported = Array.isArray(supportedVersions) ? supportedVersions.map(String) : []
  return supported.includes(modernRevision)
    ? Effect.void
    : Effect.fail(
        sessionError("unavailable", `unsupported MCP revisions: ${supported.join(", ") || "unknown"}`)
      )
}

/**
 * Opens a session with a server that keeps none itself: it speaks Streamable HTTP of revision 2026-07-28. The session
 * is over when the server is found gone.
 */
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
  const info = infoOf(discovered)
  const degraded = yield* Deferred.make<string>()

  const sessionRequests = yield* makeSessionRequests(request)
  const { listResources, readResource } = sessionRequests
  const { listChanged } = asObject(asObject(discovered["capabilities"])["resources"])

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
