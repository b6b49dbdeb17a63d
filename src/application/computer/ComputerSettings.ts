import { Context, Duration, Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { McpProgress } from "../ports/McpSession.ts"

/** A call that needs somebody's consent. */
export interface ConfirmRequest {
  readonly agent: string
  readonly reqId: string
  /** Name of the MCP server. */
  readonly server: string
  /** The tool by the name the Agent used. */
  readonly tool: string
  readonly params: JsonObject
}

/** Decides whether a call may run. A failure counts as no. */
export type Confirm = (request: ConfirmRequest) => Effect.Effect<boolean, unknown>

/** A document to be turned into a URI that an Agent can fetch itself (spec §10.4). */
export interface DpeRequest {
  /** The `dpe://` URI as it was asked for, without query and fragment. */
  readonly uri: string
  /** What `resources/read` gave. */
  readonly contents: ReadonlyArray<JsonObject>
  /** The resource as listed, where it is. */
  readonly resource: JsonObject | undefined
  readonly hint: {
    readonly mcpServerName: string
    readonly mimeType: string | undefined
    readonly agent: string
    readonly reqId: string
  }
}

/** Where the document can be fetched; `size` in bytes. */
export interface ResolvedDpe {
  readonly uri: string
  readonly mimeType?: string
  readonly size?: number
  readonly name?: string
  readonly description?: string
  readonly annotations?: JsonObject
  readonly metadata?: JsonObject
}

/** Makes a document reachable: uploads it, caches it, signs a URL. The content never crosses the office. */
export type ResolveDpe = (request: DpeRequest) => Effect.Effect<ResolvedDpe, unknown>

/** A call that says how far it is. */
export interface ProgressReport extends McpProgress {
  readonly reqId: string
  /** The tool by the name the Agent used. */
  readonly tool: string
}

/** What a host may set about a Computer. */
export interface ComputerSettings {
  /** How long an MCP server may take to start and answer; the first start of one may download it. */
  readonly connectTimeout: Duration.Duration
  /** How long the Computer waits for its servers before it joins the office; late ones are announced. */
  readonly startupTimeout: Duration.Duration
  /** How long listing or reading resources may take; slower ones are left out. */
  readonly readTimeout: Duration.Duration
  /** How often an MCP server is asked for a sign of life. */
  readonly keepaliveInterval: Duration.Duration
  /** Changes that follow each other within this time are looked at, and announced, together. */
  readonly changeThrottle: Duration.Duration
  /** Show windows and documents of servers, too, that do not tell when they change. */
  readonly showUnsubscribable: boolean
  /** Asked before a tool runs that is not marked `auto_apply`; without it such calls fail with 4005. */
  readonly confirm: Confirm | undefined
  /** Turns documents into URIs; without it they are refused with 4011. */
  readonly resolveDpe: ResolveDpe | undefined
  /** Hears how far running calls are; the protocol itself carries no progress. */
  readonly onProgress: (report: ProgressReport) => Effect.Effect<void>
}

/** The settings of a Computer. */
export const ComputerSettings = Context.Reference<ComputerSettings>(
  "a2c-smcp/application/computer/ComputerSettings",
  {
    defaultValue: () => ({
      connectTimeout: Duration.minutes(1),
      startupTimeout: Duration.seconds(5),
      readTimeout: Duration.seconds(10),
      keepaliveInterval: Duration.seconds(30),
      changeThrottle: Duration.millis(100),
      showUnsubscribable: false,
      confirm: undefined,
      resolveDpe: undefined,
      onProgress: (report) => Effect.logDebug("tool progress", report)
    })
  }
)
