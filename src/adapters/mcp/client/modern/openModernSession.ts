import { SERVER_INFO_META_KEY, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Deferred, Effect, type Scope } from "effect"
import { listAllPages } from "../../../../application/shared/paging.ts"
import { McpSessionError, type McpInfo, type McpSession } from "../../../../application/ports/McpSession.ts"
import { isJsonObject, type JsonObject } from "../../../../domain/json.ts"
import type { StreamableParameters } from "../../../../domain/config/endpointParameters.ts"
import type { WrapFetch } from "../../oauth/Authorizer.ts"
import { makeHttpFetch } from "../http/HttpFetch.ts"
import { makeModernClient, modernRevision } from "./ModernClient.ts"
import { watchModern } from "./watchModern.ts"
import { makeSessionRequests } from "../sessionRequests.ts"

const memberOf = (object: unknown, name: string): unknown => (isJsonObject(object) ? object[name] : undefined)

const asString = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

const infoOf = ({ _meta, capabilities, instructions }: JsonObject): McpInfo => {
  const server = memberOf(_meta, SERVER_INFO_META_KEY)
  const resources = memberOf(capabilities, "resources")
  return {
    name: asString(memberOf(server, "name")) ?? "unknown",
    version: asString(memberOf(server, "version")) ?? "unknown",
    protocolVersion: modernRevision,
    capabilities: {
      tools: memberOf(capabilities, "tools") !== undefined,
      resources: resources !== undefined,
      subscribe: memberOf(resources, "subscribe") === true
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
        new McpSessionError({
          reason: "unavailable",
          message: `it speaks none of our revisions of MCP, only ${supported.join(", ") || "unknown ones"}`
        })
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
  const listChanged = memberOf(memberOf(discovered["capabilities"], "resources"), "listChanged") === true

  return {
    info,
    ...sessionRequests,
    watch: (wanted) =>
      watchModern(wanted, {
        client,
        source: { listResources: listAllPages(listResources), readResource },
        advertised: { subscribe: info.capabilities.subscribe, listChanged },
        degraded
      }),
    ping: Effect.asVoid(discover),
    closed: Deferred.await(client.lost),
    degraded: Deferred.await(degraded)
  }
})
