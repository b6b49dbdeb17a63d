import { Context, Duration, Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { DocumentLocation } from "../../domain/model/messages/requests.ts"
import type { McpProgress } from "../ports/McpSession.ts"

/** A call that needs consent. */
export interface ConfirmRequest {
  /** The name of the Computer that would run the tool. */
  readonly computer: string
  /** The name of the caller. It is foreign text, as are `tool`, `server` and `params`: escape it before display. */
  readonly agent: string
  readonly reqId: string
  readonly server: string
  /** The exposed name of the tool. */
  readonly tool: string
  /** Its alias, or else its name at the MCP server. */
  readonly shortName: string
  /** Changes with the definition of the tool and the endpoint of its server: a lasting consent covers one revision. */
  readonly revision: number
  readonly params: JsonObject
}

/** Decides whether a call may run. A failure denies the call. */
export type Confirm = (request: ConfirmRequest) => Effect.Effect<boolean, unknown>

/** A document to resolve to a URI that an Agent can fetch (spec §10.4). */
export interface DpeRequest {
  /** The requested `dpe://` URI without query and fragment. */
  readonly uri: string
  /** The result of `resources/read`. */
  readonly contents: ReadonlyArray<JsonObject>
  /** The listed resource, if the server lists it. */
  readonly resource: JsonObject | undefined
  readonly hint: {
    readonly mcpServerName: string
    readonly mimeType: string | undefined
    readonly agent: string
    readonly reqId: string
  }
}

/** The location of a resolved document. */
export type ResolvedDpe = DocumentLocation

/** Uploads or caches a document, or signs a URL. The content never crosses the office. */
export type ResolveDpe = (request: DpeRequest) => Effect.Effect<ResolvedDpe, unknown>

/** The progress of a call. */
export interface ProgressReport extends McpProgress {
  readonly reqId: string
  /** The exposed name of the tool. */
  readonly tool: string
}

export interface ComputerSettings {
  /** How long an MCP server may take to start and respond; 1 minute by default, since a start may download it. */
  readonly connectTimeout: Duration.Duration
  /** How long a Computer that has joined its office waits for its servers before it is ready; 5 seconds by default. */
  readonly startupTimeout: Duration.Duration
  /** How long listing or reading resources may take; 10 seconds by default. */
  readonly readTimeout: Duration.Duration
  /** Interval of pings to an MCP server; 30 seconds by default. */
  readonly keepaliveInterval: Duration.Duration
  /** Minimum interval between notifications of the same kind; 100 milliseconds by default. */
  readonly changeThrottle: Duration.Duration
  /** Shows windows and documents of servers without resource subscriptions, too. */
  readonly showUnsubscribable: boolean
  /** Patterns of tools that run without a question, unless the policy decides otherwise: `SERVER/TOOL` or `TOOL`. */
  readonly approve: ReadonlyArray<string>
  /** Confirms calls that are neither allowed by the policy, by `auto_apply` nor by a pattern; without it they fail with 4005. */
  readonly confirm: Confirm | undefined
  /** Resolves documents to URIs; without it requests fail with 4011. */
  readonly resolveDpe: ResolveDpe | undefined
  /** Receives the progress of running calls; the protocol carries none. */
  readonly onProgress: (report: ProgressReport) => Effect.Effect<void>
}

export const ComputerSettings = Context.Reference<ComputerSettings>("a2c-smcp/application/computer/ComputerSettings", {
  defaultValue: () => ({
    connectTimeout: Duration.minutes(1),
    startupTimeout: Duration.seconds(5),
    readTimeout: Duration.seconds(10),
    keepaliveInterval: Duration.seconds(30),
    changeThrottle: Duration.millis(100),
    showUnsubscribable: false,
    approve: [],
    confirm: undefined,
    resolveDpe: undefined,
    onProgress: (report) => Effect.logDebug("tool progress", report)
  })
})
