import { SERVER_INFO_META_KEY, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Deferred, Effect, type Scope } from "effect"
import { allPages } from "../../application/computer/paging.ts"
import { McpFailure, type McpInfo, type McpSession } from "../../application/ports/McpSession.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import type { StreamableParameters } from "../../domain/protocol/v0_2/parameters.ts"
import type { WrapFetch } from "./Authorizer.ts"
import { makeHttpFetch } from "./HttpFetch.ts"
import { makeModernPeer, revision } from "./ModernPeer.ts"
import { watchModern } from "./ModernWatch.ts"
import { makeVerbs } from "./verbs.ts"

const member = (object: unknown, name: string): unknown => (isJsonObject(object) ? object[name] : undefined)

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

const infoOf = ({ _meta, capabilities, instructions }: JsonObject): McpInfo => {
  const server = member(_meta, SERVER_INFO_META_KEY)
  const resources = member(capabilities, "resources")
  return {
    name: text(member(server, "name")) ?? "unknown",
    version: text(member(server, "version")) ?? "unknown",
    protocolVersion: revision,
    capabilities: {
      tools: member(capabilities, "tools") !== undefined,
      resources: resources !== undefined,
      subscribe: member(resources, "subscribe") === true
    },
    instructions: text(instructions)
  }
}

/** Refuses a server that speaks other revisions only. */
const checkRevision = ({ supportedVersions }: JsonObject): Effect.Effect<void, McpFailure> => {
  const spoken = Array.isArray(supportedVersions) ? supportedVersions.map(String) : []
  return spoken.includes(revision)
    ? Effect.void
    : Effect.fail(
        new McpFailure({
          kind: "unavailable",
          message: `it speaks none of our revisions of MCP, only ${spoken.join(", ") || "unknown ones"}`
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
): Effect.fn.Return<McpSession, McpFailure, Scope.Scope> {
  const fetch = wrap(yield* makeHttpFetch({ timeout, sseReadTimeout, resumable: false }))
  const peer = yield* makeModernPeer(
    new StreamableHTTPClientTransport(url, {
      ...(headers !== null && { requestInit: { headers: { ...headers } } }),
      fetch
    })
  )
  const { discover, request } = peer
  const discovered = yield* discover
  yield* checkRevision(discovered)
  const info = infoOf(discovered)
  const degraded = yield* Deferred.make<string>()

  const verbs = yield* makeVerbs(request)
  const { listResources, readResource } = verbs
  const listing = member(member(discovered["capabilities"], "resources"), "listChanged") === true

  return {
    info,
    ...verbs,
    watch: (wanted) =>
      watchModern(wanted, {
        peer,
        source: { listResources: allPages(listResources), readResource },
        promised: { contents: info.capabilities.subscribe, listing },
        degraded
      }),
    ping: Effect.asVoid(discover),
    ended: Deferred.await(peer.lost),
    degraded: Deferred.await(degraded)
  }
})
