import { Context, Data, type Effect, type Scope, type Stream } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { Endpoint } from "../../domain/config/endpointParameters.ts"

/**
 * Something went wrong between us and an MCP peer.
 *
 * - `protocol`: the peer answered with an error; `code` is its JSON-RPC number
 * - `unauthorized`, `forbidden`: the peer's door refused us (HTTP 401, 403)
 * - `closed`: the session has ended, or ended under way
 * - `unavailable`: it could not be opened, or does not answer as MCP
 * - `unsupported`: the peer lacks the capability
 */
export class McpSessionError extends Data.TaggedError("McpSessionError")<{
  readonly reason: "protocol" | "unauthorized" | "forbidden" | "closed" | "unavailable" | "unsupported"
  readonly message: string
  readonly code?: number
}> {}

/** What an MCP peer says of itself. */
export interface McpInfo {
  readonly name: string
  readonly version: string
  readonly protocolVersion: string | undefined
  readonly capabilities: {
    readonly tools: boolean
    readonly resources: boolean
    /** The peer tells when a resource's contents change. */
    readonly subscribe: boolean
  }
  readonly instructions: string | undefined
}

/** One page of a listing; objects exactly as the peer sent them. */
export interface McpPage {
  readonly items: ReadonlyArray<JsonObject>
  readonly nextCursor: string | undefined
}

/** What a peer told about itself since. */
export type McpChange =
  | { readonly _tag: "ToolsChanged" }
  | { readonly _tag: "ResourcesChanged" }
  | { readonly _tag: "ResourceUpdated"; readonly uri: string }

/** What to watch: the listings, and the contents of these resources. */
export interface McpWatchOptions {
  readonly tools: boolean
  readonly resources: boolean
  readonly uris: ReadonlyArray<string>
}

/** Is this change among what is watched? */
export const isWatched = ({ resources, tools, uris }: McpWatchOptions, change: McpChange): boolean => {
  if (change._tag === "ToolsChanged") return tools
  return change._tag === "ResourcesChanged" ? resources : uris.includes(change.uri)
}

/** How far a call is. */
export interface McpProgress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/**
 * Anything that has tools and resources: an MCP server, a pack of tools, a device, a whole office. Neutral to how the
 * peer speaks MCP; objects pass through untouched.
 */
export interface McpSession {
  readonly info: McpInfo
  readonly listTools: (cursor?: string) => Effect.Effect<McpPage, McpSessionError>
  readonly listResources: (cursor?: string) => Effect.Effect<McpPage, McpSessionError>
  /** Gives the contents of a resource. */
  readonly readResource: (uri: string) => Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
  /** Calls a tool and gives its raw result. Interrupting it cancels the call at the peer. */
  readonly callTool: (
    name: string,
    args: JsonObject,
    options?: { readonly onProgress?: (progress: McpProgress) => Effect.Effect<void> }
  ) => Effect.Effect<JsonObject, McpSessionError>
  /**
   * Changes as the peer tells them, from the moment this effect succeeds: however the peer delivers them, nothing
   * between here and the first pull is lost. Subscriptions end with the scope; the stream ends with the session.
   */
  readonly watch: (
    options: McpWatchOptions
  ) => Effect.Effect<Stream.Stream<McpChange>, McpSessionError, Scope.Scope>
  /** Succeeds when the peer gives a sign of life. */
  readonly ping: Effect.Effect<void, McpSessionError>
  /** Waits until the session has ended without our asking, and says why. */
  readonly closed: Effect.Effect<McpSessionError>
  /**
   * Waits until the session works with less than its peer promised, and says with what in words a person understands.
   * A session that has none, or one that never succeeds, keeps what was promised.
   */
  readonly degraded?: Effect.Effect<string>
}

/** Opens sessions with MCP servers. */
export class McpConnector extends Context.Service<
  McpConnector,
  {
    /** Opens a session that lives as long as the scope; closing it leaves nothing behind. */
    readonly connect: (
      server: string,
      endpoint: Endpoint
    ) => Effect.Effect<McpSession, McpSessionError, Scope.Scope>
  }
>()("a2c-smcp/application/ports/McpConnector") {}
