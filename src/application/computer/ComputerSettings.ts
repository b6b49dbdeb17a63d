import { Context, Duration, Effect } from "effect"
import type { Approval, ApprovalAnswer, Question } from "../../domain/approvals/Approval.ts"
import type { Lifecycle } from "../../domain/config/computerConfig.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { InputAnswer } from "../../domain/model/InputRequest.ts"
import type { DocumentLocation } from "../../domain/model/messages/requests.ts"
import type { McpProgress } from "../ports/McpSession.ts"
import type { RequestId } from "../../domain/model/ids.ts"

/**
 * Decides about a call that needs an approval: `true` allows this call, `false` denies it. The answer may have a scope or a
 * reason, and say who gave it, `program` by default. A failure denies the call. It is interrupted when another approver
 * answers first, or the call ends.
 */
export type Confirm = (
  approval: Approval
) => Effect.Effect<boolean | (ApprovalAnswer & { readonly by?: string }), unknown>

/**
 * Answers a question of an MCP server to the user. The answer may say who gave it, `program` by default. After an invalid
 * one it is asked again, with the error at the start of the message. A failure closes the question without an answer.
 * It is interrupted when another responder answers first, or the call ends.
 */
export type OnInput = (question: Question) => Effect.Effect<InputAnswer & { readonly by?: string }, unknown>

/** An approver beside `confirm`: operators on the office page, or the program of the calling Agent. */
export type RemoteApprover = "page" | "agent"

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
    readonly reqId: RequestId
  }
}

/** The location of a resolved document. */
export type ResolvedDpe = DocumentLocation

/** Uploads or caches a document, or signs a URL. The content never crosses the office. */
export type ResolveDpe = (request: DpeRequest) => Effect.Effect<ResolvedDpe, unknown>

/** The progress of a call. */
export interface ProgressReport extends McpProgress {
  readonly reqId: RequestId
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
  /** When servers run that do not say it in the configuration; `eager` by default. */
  readonly lifecycle: Lifecycle
  /** How long a lazy server runs without a request, unless its configuration says it; 5 minutes by default. */
  readonly idle: Duration.Duration
  /** Minimum interval between notifications of the same kind; 100 milliseconds by default. */
  readonly changeThrottle: Duration.Duration
  /** Also shows windows and documents of servers without resource subscriptions. */
  readonly showUnsubscribable: boolean
  /** Patterns of tools that run without a question, unless the policy decides otherwise: `SERVER/TOOL` or `TOOL`. */
  readonly approve: ReadonlyArray<string>
  /**
   * Decides about calls that are neither allowed by the policy, by `auto_apply`, by a pattern nor by a grant. Without it
   * and without `approvers` they fail with 4005.
   */
  readonly confirm: Confirm | undefined
  /**
   * Answers questions of MCP servers, beside the calling Agent and operators that are `approvers`. A question that none of
   * them can answer is declined at once.
   */
  readonly onInput: OnInput | undefined
  /** Who else may decide about them; none by default. */
  readonly approvers: ReadonlyArray<RemoteApprover>
  /**
   * How long a call waits for an approval; 5 minutes by default, at most 1 hour. This time does not count as execution
   * time where the Server and the Agent of the call support it; elsewhere the wait ends within the timeout of the call.
   */
  readonly approvalTimeout: Duration.Duration
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
    lifecycle: "eager",
    idle: Duration.minutes(5),
    changeThrottle: Duration.millis(100),
    showUnsubscribable: false,
    approve: [],
    confirm: undefined,
    onInput: undefined,
    approvers: [],
    approvalTimeout: Duration.minutes(5),
    resolveDpe: undefined,
    onProgress: (report) => Effect.logDebug("tool progress", report)
  })
})
