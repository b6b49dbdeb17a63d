import { Context, Data, type Effect, type Scope, type Stream } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { InputAnswer, InputRequest } from "../../domain/model/InputRequest.ts"
import type { ServerConfig } from "../../domain/config/computerConfig.ts"
import type { Setup } from "../../domain/config/Setup.ts"
import type { Endpoint } from "../../domain/config/endpointParameters.ts"
import type { McpErrorReason } from "../../domain/mcpServers/McpServer.ts"
import type { McpInfo } from "../../domain/tools/ServerCatalogue.ts"

export type { McpInfo }

/**
 * A failure of an MCP session.
 *
 * - `protocol`: the peer replied with an error; `code` is its JSON-RPC code
 * - `unauthorized`, `forbidden`: the peer rejected the credentials (HTTP 401, 403)
 * - `closed`: the session has ended, or ended during the request
 * - `unavailable`: the session could not be opened, or the peer does not speak MCP
 * - `unsupported`: the peer lacks the capability
 */
export class McpSessionError extends Data.TaggedError("McpSessionError")<{
  readonly reason: McpErrorReason
  readonly message: string
  readonly code?: number
  /** What the peer added to its error. */
  readonly data?: JsonObject
  /** The last line that the process of a lost session wrote to stderr: for the owner only. */
  readonly output?: string
}> {}

/** Makes an error; `output` is the last line of stderr of a lost process. */
export const sessionError = (reason: McpErrorReason, message: string, output?: string): McpSessionError =>
  new McpSessionError({ reason, message, ...definedOnly({ output }) })

/** Makes the error with which a peer replies; `code` is that of JSON-RPC. */
export const protocolFailure = (code: number, message: string): McpSessionError =>
  new McpSessionError({ reason: "protocol", code, message })

/** One page of a list, with objects exactly as the peer sent them. */
export interface McpPage {
  readonly items: ReadonlyArray<JsonObject>
  readonly nextCursor: string | undefined
}

/** A change that a peer announced. */
export type McpChange =
  | { readonly _tag: "ToolsChanged" }
  | { readonly _tag: "ResourcesChanged" }
  | { readonly _tag: "PromptsChanged" }
  | { readonly _tag: "ResourceUpdated"; readonly uri: string }
  /** A message for the log; `level` is one of RFC 5424, `data` any JSON value. */
  | { readonly _tag: "Logged"; readonly level: string; readonly logger: string | undefined; readonly data: unknown }

/** The lists, and the URIs of resources, to watch. */
export interface McpWatchOptions {
  readonly tools: boolean
  readonly resources: boolean
  readonly uris: ReadonlyArray<string>
  readonly prompts?: boolean
  /** Also log messages. */
  readonly logs?: boolean
}

export const isWatched = (
  { logs = false, prompts = false, resources, tools, uris }: McpWatchOptions,
  change: McpChange
): boolean =>
  change._tag === "ResourceUpdated"
    ? uris.includes(change.uri)
    : { ToolsChanged: tools, ResourcesChanged: resources, PromptsChanged: prompts, Logged: logs }[change._tag]

export interface McpProgress {
  /** Increases with every report. */
  readonly progress: number
  /** Final value of `progress`, when known. */
  readonly total?: number
  readonly message?: string
}

/** Answers the questions of a peer to the user. */
export interface InputResponder {
  /** The kinds of questions that it can answer. */
  readonly modes: ReadonlyArray<InputRequest["mode"]>
  /** Interrupted when the call ends, or another responder answers first. */
  readonly answer: (request: InputRequest) => Effect.Effect<InputAnswer>
}

/** Receives what happens during a call. */
export interface McpCallOptions {
  readonly onProgress?: (progress: McpProgress) => Effect.Effect<void>
  /** Without it the questions of the peer are declined. */
  readonly responder?: InputResponder
  /** The name of the caller; missing for one without a name. Only peers in this process learn it. */
  readonly requester?: string
}

/** A call that outlives its request, and the process that published it. */
export interface McpTask {
  /** Names the task also in a later process. */
  readonly id: string
  /** Milliseconds of the epoch. */
  readonly createdAt: number
  /** Waits for the result. Interruption does not cancel the call. */
  readonly result: Effect.Effect<JsonObject, McpSessionError>
  /** Cancels the call unless it has ended. */
  readonly cancel: Effect.Effect<void, McpSessionError>
}

/** Starts and finds tasks. The options of a call apply while its result is awaited. */
export interface McpTasks {
  /** Starts a call; `undefined` for a tool that runs at once only. */
  readonly start: (
    name: string,
    params: JsonObject,
    options?: McpCallOptions
  ) => Effect.Effect<McpTask | undefined, McpSessionError>
  /** Fails for a task that is unknown, or unknown by now. */
  readonly find: (id: string, options?: McpCallOptions) => Effect.Effect<McpTask, McpSessionError>
}

/** A request that passes through as it is, where `info.capabilities` covers it. */
export type McpMethod = "prompts/list" | "prompts/get" | "completion/complete" | "resources/templates/list"

/**
 * A provider of tools and resources: an MCP server, a pack, a device or an office. Independent of MCP's transport and
 * version; objects pass through unchanged.
 */
export interface McpSession {
  readonly info: McpInfo
  readonly listTools: (cursor?: string) => Effect.Effect<McpPage, McpSessionError>
  readonly listResources: (cursor?: string) => Effect.Effect<McpPage, McpSessionError>
  readonly readResource: (uri: string) => Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
  /** Calls a tool and gives its raw result. Interruption cancels the call at the peer. */
  readonly callTool: (
    name: string,
    params: JsonObject,
    options?: McpCallOptions
  ) => Effect.Effect<JsonObject, McpSessionError>
  /**
   * Emits the peer's changes from the moment when this effect succeeds; none before the first pull is lost.
   * Subscriptions end with the scope. The stream ends with the session.
   */
  readonly watch: (options: McpWatchOptions) => Effect.Effect<Stream.Stream<McpChange>, McpSessionError, Scope.Scope>
  readonly ping: Effect.Effect<void, McpSessionError>
  /** Sends a request and gives its result unchanged. Missing at providers of tools and resources alone. */
  readonly request?: (method: McpMethod, params: JsonObject) => Effect.Effect<JsonObject, McpSessionError>
  /** Missing where calls end with their request. */
  readonly tasks?: McpTasks
  /** Resolves with the error when the session ends unexpectedly. */
  readonly closed: Effect.Effect<McpSessionError>
  /**
   * How long the latest lists stay fresh, in milliseconds: the shortest `ttlMs` (SEP-2549). `undefined`, and missing, where
   * the peer gives no time.
   */
  readonly listLifetime?: () => number | undefined
  /** Resolves with a description when the session lacks a declared capability. Missing when it never does. */
  readonly degraded?: Effect.Effect<string>
}

/** Resolves the endpoint of a server, whose secret values go to `onSecret`. `Inputs.layer` provides it. */
export class Endpoints extends Context.Service<
  Endpoints,
  (server: ServerConfig, setup: Setup, onSecret: (value: string) => void) => Effect.Effect<Endpoint, string>
>()("a2c-smcp/application/ports/Endpoints") {}

/** Opens sessions with MCP servers. */
export class McpConnector extends Context.Service<
  McpConnector,
  {
    /** Opens a session as long as the scope. Closing it releases every resource. */
    readonly connect: (server: string, endpoint: Endpoint) => Effect.Effect<McpSession, McpSessionError, Scope.Scope>
    /** True for a server in this process, which is never lazy; false by default. */
    readonly isInProcess?: (server: string) => boolean
  }
>()("a2c-smcp/application/ports/McpConnector") {}
