import { Effect } from "effect"
import type { McpClientLike } from "../../adapters/llm/McpClientLike.ts"
import type { SocketIoClientOptions } from "../../adapters/socketio/client/SocketIoClient.ts"
import type { DocumentAccess } from "../layers/agentLayer.ts"
import type { AgentOptions, AgentShape, ToolCall as CoreToolCall } from "../../application/agent/Agent.ts"
import type { ToolTask } from "../../application/agent/tasks/toolTasks.ts"
import type { BlobOptions, SkillContent } from "../../application/agent/blobs.ts"
import type { McpServerRequest } from "../../application/agent/mcpChannel.ts"
import type { CallStatus } from "../../domain/model/CallStatus.ts"
import type { OfficeMcpSessionOptions } from "../../application/bridge/officeModelSession.ts"
import type { MethodArguments, MethodName, MethodResult } from "../../domain/wire/calls.ts"
import { definedOnly } from "../../domain/objects.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import type { HookOf } from "./computer/computerHooks.ts"
import { type ChecksOf, describeValue } from "./checkArguments.ts"
import { durations } from "./durations.ts"
import type { MemberRows, PromisedMembers } from "./promisedMethods.ts"
import type { Cancellable, Closeable, Log } from "./RunningService.ts"

/** Options of a connection to a Server. */
export interface ConnectionOptions extends Omit<SocketIoClientOptions, "connectTimeout" | "token"> {
  /** The key or token of this member; a function is called before every connection, for tokens that expire. */
  readonly token?: string | (() => string | Promise<string>)
  /** Timeout of opening the connection in milliseconds; 20 seconds by default. */
  readonly connectTimeout?: number
  /** How long a join waits while another member is at its place, in milliseconds; it fails at once by default. */
  readonly wait?: number
  /** Receives the log; without it, warnings and errors go to stderr. */
  readonly log?: Log
}

/** The functions that answer what a call waits for. A signal aborts when another approver answers first, or the call ends. */
type CallAnswers = {
  readonly [H in keyof Pick<CoreToolCall, "onInput" | "onApproval">]: HookOf<NonNullable<CoreToolCall[H]>> | undefined
}

/** A tool call; `timeout` in whole seconds. Without `computer`, the Agent finds the one Computer that has the tool. */
export interface AgentToolCall extends Omit<CoreToolCall, "onStatus" | keyof CallAnswers>, CallAnswers {
  /** Receives the reasons why the call waits: for consent, or for MCP servers that start. */
  readonly onStatus?: ((status: CallStatus) => void) | undefined
}

/** Options of an Agent and its connection. */
export interface AgentConnectOptions extends Omit<AgentOptions, "wait" | "followsComputers">, ConnectionOptions {}

/** Options of an Agent on Node. */
export interface NodeAgentConnectOptions extends AgentConnectOptions, DocumentAccess {}

/**
 * A call that runs at its Computer, also when a signal aborts a wait for it. Promises reject with the code `task_lost` when
 * the Computer does not know it.
 */
export interface StartedTool
  extends Pick<ToolTask, "id" | "computer">,
    PromisedMembers<ToolTask, "status" | "result" | "cancel"> {}

/** The methods of the rows in the table of requests. */
type RequestMethods = {
  readonly [K in MethodName]: (...args: MethodArguments<K, Cancellable>) => Promise<MethodResult<K>>
}

export const byteLimits: ChecksOf<BlobOptions> = { maxBytes: "limit", timeout: "seconds" }

const serverRequest: ChecksOf<McpServerRequest> = {
  server: ["string"],
  method: ["string"],
  params: ["object"],
  timeout: "seconds"
}

/** The members of an Agent that are promised as they are. */
export const agentMemberRows = {
  allResources: { required: ["string", "string"] },
  approvals: { iterates: true },
  blob: { required: ["string", "string"], options: byteLimits },
  changes: { iterates: true },
  changesOf: { required: ["string"], iterates: true },
  events: { iterates: true },
  fetchDocument: { required: ["string", "string"], options: byteLimits },
  getTools: { required: ["string"] },
  mcpRequest: { required: ["string", serverRequest] },
  mcpServers: { required: ["string"] },
  members: {},
  putBlob: { required: ["string", "data"], options: { nameHint: "string" } },
  settled: {},
  status: { iterates: true },
  view: {}
} satisfies MemberRows<AgentShape>

/** An Agent in its office; reconnects when the connection is lost. Promises reject with an `A2cError`. */
export interface ConnectedAgent
  extends Closeable,
    RequestMethods,
    PromisedMembers<AgentShape, keyof typeof agentMemberRows> {
  /**
   * Calls a tool, on the only Computer that has it unless `computer` names one, and reads the blobs of its result. A
   * failed tool and a timeout are results with `isError`, not rejections. Aborting the signal cancels the call on the
   * Computer.
   */
  readonly callTool: (call: AgentToolCall, options?: Cancellable) => Promise<ToolResult>
  /**
   * Starts a call that runs on while this Agent is disconnected or restarts. At a Computer of another implementation it runs
   * as long as this Agent.
   */
  readonly startTool: (call: Omit<AgentToolCall, "blobs">, options?: Cancellable) => Promise<StartedTool>
  /** The handle of a call that this Agent started, also in an earlier process. */
  readonly startedTool: (computer: string, id: string) => StartedTool
  /** Reads a file of a skill, verified: `SKILL.md` without its front matter, or the file at `relPath`. */
  readonly readSkill: (
    computer: string,
    name: string,
    options?: Cancellable & BlobOptions & { readonly relPath?: string }
  ) => Promise<SkillContent>
  /** The office in the shape of an MCP client, for agent frameworks: see `a2c-smcp/llm`. */
  readonly mcpClient: (options?: Cancellable & Omit<OfficeMcpSessionOptions, "office">) => Promise<McpClientLike>
}

/** The message of an error that the function throws reaches the caller, who wrote the function. */
const tokenEffect = (getToken: () => string | Promise<string>) =>
  Effect.tryPromise({
    try: async () => {
      const token: unknown = await getToken()
      if (typeof token === "string") return token
      throw new Error(`'token' must give a string, but it is ${describeValue(token)}`)
    },
    catch: (error) => ({ message: errorMessage(error) })
  })

export const toClientOptions = <Options extends ConnectionOptions>({
  connectTimeout,
  log: _,
  token,
  wait,
  ...options
}: Options) => ({
  ...options,
  ...durations({ connectTimeout, wait }),
  ...definedOnly({ token: typeof token === "function" ? tokenEffect(token) : token })
})
