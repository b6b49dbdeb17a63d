import { Effect } from "effect"
import { type McpClientLike, makeMcpClient } from "../../adapters/llm/McpClientLike.ts"
import type { SocketIoClientOptions } from "../../adapters/socketio/client/SocketIoClient.ts"
import {
  Agent,
  type AgentEvent,
  type AgentOptions,
  type ToolCall as CoreToolCall
} from "../../application/agent/Agent.ts"
import type { McpServerRequest } from "../../application/agent/mcpChannel.ts"
import type { TaskStatus, ToolTask } from "../../application/agent/tasks/toolTasks.ts"
import type {
  BlobOptions,
  FetchedBlob,
  SkillContent,
  PutBlobOptions,
  UploadedFile
} from "../../application/agent/blobs.ts"
import type { ApprovalAnswer } from "../../domain/approvals/Approval.ts"
import type { ApprovalView } from "../../domain/approvals/ApprovalView.ts"
import type { CallStatus } from "../../domain/model/CallStatus.ts"
import type { InputAnswer, InputRequest } from "../../domain/model/InputRequest.ts"
import type { ComputerView, OfficeView } from "../../application/agent/OfficeView.ts"
import type { FetchedDocument, FetchOptions } from "../../application/agent/AgentQueries.ts"
import { makeOfficeMcpSession, type OfficeMcpSessionOptions } from "../../application/bridge/OfficeMcpSession.ts"
import type { MemberStatus } from "../../application/member/OfficeMember.ts"
import {
  type MethodArguments,
  type MethodName,
  methodNamed,
  methodNames,
  type MethodResult
} from "../../domain/wire/calls.ts"
import { definedOnly } from "../../domain/objects.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { SessionInfo } from "../../domain/model/Membership.ts"
import type { McpServerInfo } from "../../domain/model/messages/mcp.ts"
import type { Tool } from "../../domain/model/Tool.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import type { Awaitable, HookOptions } from "./computerHooks.ts"
import { describeValue } from "./checkArguments.ts"
import { durations } from "./durations.ts"
import type { Cancellable, Closeable, Log, RunningService } from "./RunningService.ts"

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

/** A tool call; `timeout` in whole seconds. Without `computer`, the Agent finds the one Computer that has the tool. */
export interface AgentToolCall extends Omit<CoreToolCall, "onStatus" | "onInput" | "onApproval"> {
  /** Receives the reasons why the call waits: for consent, or for MCP servers that start. */
  readonly onStatus?: ((status: CallStatus) => void) | undefined
  /**
   * Answers a question of the MCP server. Without it such questions are declined, unless the owner of the Computer or an
   * operator answers. After an invalid answer it is asked again, with the error at the start of the message. A failure
   * closes the question without an answer. The signal aborts when another responder answers first, or the call ends.
   */
  readonly onInput?: ((request: InputRequest, options: HookOptions) => Awaitable<InputAnswer>) | undefined
  /**
   * Decides about the call where its owner lets Agents decide. `undefined`, and a failure, leave the decision to other
   * approvers.
   */
  readonly onApproval?:
    | ((approval: ApprovalView, options: HookOptions) => Awaitable<ApprovalAnswer | undefined>)
    | undefined
}

/** Options of an Agent and its connection. */
export interface AgentConnectOptions extends Omit<AgentOptions, "wait">, ConnectionOptions {}

/** Options of an Agent on Node. */
export interface NodeAgentConnectOptions extends AgentConnectOptions {
  /** Folders that `fetchDocument` may read; none by default, since Computers choose the file names. */
  readonly documentFolders?: ReadonlyArray<string>
  /**
   * Hosts from which `fetchDocument` may fetch although their addresses are private, such as `192.168.1.5` or
   * `*.corp.example`. Others must be public or in the network of the Server.
   */
  readonly documentHosts?: ReadonlyArray<string>
}

/** A call that runs at its Computer. Promises reject with the code `task_lost` when the Computer does not know it. */
export interface StartedTool {
  readonly id: string
  readonly computer: string
  readonly status: (options?: Cancellable) => Promise<TaskStatus>
  /** Waits for the result, also through lost connections. Aborting the signal does not cancel the call. */
  readonly result: (options?: Cancellable) => Promise<ToolResult>
  /** Cancels the call unless it has ended. */
  readonly cancel: (options?: Cancellable) => Promise<void>
}

/** The methods of the rows in the table of requests. */
type RequestMethods = {
  readonly [K in MethodName]: (...args: MethodArguments<K, Cancellable>) => Promise<MethodResult<K>>
}

/** An Agent in its office; reconnects when the connection is lost. Promises reject with an `A2cError`. */
export interface ConnectedAgent extends Closeable, RequestMethods {
  /** The members of the office. */
  readonly members: (options?: Cancellable) => Promise<ReadonlyArray<SessionInfo>>
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
  /** The tools for a model, without those that only apps of MCP servers call. */
  readonly getTools: (computer: string, options?: Cancellable) => Promise<ReadonlyArray<Tool>>
  /**
   * The MCP servers of a Computer with their instructions, prompts and resource templates; none at Computers of other
   * implementations.
   */
  readonly mcpServers: (computer: string, options?: Cancellable) => Promise<ReadonlyArray<McpServerInfo>>
  /** Gets a prompt, completes an argument or reads a resource at an MCP server, and gives its result unchanged. */
  readonly mcpRequest: (computer: string, request: McpServerRequest, options?: Cancellable) => Promise<JsonObject>
  /** Fetches a `dpe://` document from the location that its Computer states. */
  readonly fetchDocument: (
    computer: string,
    uri: string,
    options?: Cancellable & FetchOptions
  ) => Promise<FetchedDocument>
  /** All resources of an MCP server. */
  readonly allResources: (
    computer: string,
    mcpServer: string,
    options?: Cancellable
  ) => Promise<ReadonlyArray<JsonObject>>
  /**
   * The calls of this Agent that wait for an approval, at Computers whose owners let Agents decide, and the open questions
   * of its calls, which have an `input`; now, and after every change.
   */
  readonly approvals: (options?: Cancellable) => AsyncIterable<ReadonlyArray<ApprovalView>>
  /** Reads the content of a blob handle, verified; `timeout` in whole seconds. A handle is valid at its Computer only. */
  readonly blob: (computer: string, handle: string, options?: Cancellable & BlobOptions) => Promise<FetchedBlob>
  /**
   * Puts a file of at least one byte on a Computer that accepts uploads; needs `protocol: "0.4"`. The Computer chooses the
   * path, which `nameHint` influences. Aborting the signal stops the upload, and the Computer removes its parts.
   */
  readonly putBlob: (
    computer: string,
    bytes: Uint8Array,
    options?: Cancellable & PutBlobOptions
  ) => Promise<UploadedFile>
  /** Reads a file of a skill, verified: `SKILL.md` without its front matter, or the file at `relPath`. */
  readonly readSkill: (
    computer: string,
    name: string,
    options?: Cancellable & BlobOptions & { readonly relPath?: string }
  ) => Promise<SkillContent>
  /** Waits until all pending requests for the view are complete. */
  readonly settled: (options?: Cancellable) => Promise<void>
  /** The current view of the office: members, tools and desktops, updated by notifications. */
  readonly view: (options?: Cancellable) => Promise<OfficeView>
  /** The view now, and again after every change. */
  readonly changes: (options?: Cancellable) => AsyncIterable<OfficeView>
  /** The same for one Computer; `undefined` while it is absent. */
  readonly changesOf: (computer: string, options?: Cancellable) => AsyncIterable<ComputerView | undefined>
  /** Events from the start of the iteration on. */
  readonly events: (options?: Cancellable) => AsyncIterable<AgentEvent>
  /** The status of the membership, now and after every change. */
  readonly status: (options?: Cancellable) => AsyncIterable<MemberStatus>
  /** The office in the shape of an MCP client, for agent frameworks: see `a2c-smcp/llm`. */
  readonly mcpClient: (options?: Cancellable & Omit<OfficeMcpSessionOptions, "office">) => Promise<McpClientLike>
}

const toCoreCall = ({ onApproval, onInput, onStatus, ...call }: AgentToolCall): CoreToolCall => ({
  ...call,
  ...definedOnly({
    onStatus: onStatus && ((status: CallStatus) => Effect.sync(() => onStatus(status))),
    onInput: onInput && promiseHook(onInput),
    onApproval: onApproval && promiseHook(onApproval)
  })
})

const wrapTask = (run: RunningService<Agent["Service"]>["run"], task: ToolTask): StartedTool => ({
  id: task.id,
  computer: task.computer,
  status: (options) => run(() => task.status, options),
  result: (options) => run(() => task.result, options),
  cancel: (options) => run(() => task.cancel, options)
})

const promiseHook =
  <I, A>(hook: (input: I, options: HookOptions) => Awaitable<A>) =>
  (input: I) =>
    Effect.tryPromise(async (signal) => hook(input, { signal }))

/** The methods of the table of requests as promises; the last argument also has the signal. */
const wrapRequests = (run: RunningService<Agent["Service"]>["run"]): RequestMethods =>
  Object.fromEntries(
    methodNames.map((name) => {
      const { toFields, toResult } = methodNamed(name)
      const method = (...args: ReadonlyArray<unknown>) => {
        const { signal, ...options } = Object(args[toFields.length] ?? {})
        const fields = { ...toFields(...args), ...options }
        return run(({ request }) => Effect.map(request(name, fields), toResult), { signal })
      }
      return [name, method] as const
    })
  ) as unknown as RequestMethods

/** The methods of an Agent as promises. */
export const wrapAgent = (
  { iterate, run, ...closeable }: RunningService<Agent["Service"]>,
  office: string
): ConnectedAgent => ({
  ...closeable,
  ...wrapRequests(run),
  members: (options) => run(({ members }) => members, options),
  callTool: (call, options) => run(({ callTool }) => callTool(toCoreCall(call)), options),
  startTool: (call, options) =>
    run(({ startTool }) => Effect.map(startTool(toCoreCall(call)), (task) => wrapTask(run, task)), options),
  startedTool: (computer, id) => ({
    id,
    computer,
    status: (options) => run(({ task }) => task(computer, id).status, options),
    result: (options) => run(({ task }) => task(computer, id).result, options),
    cancel: (options) => run(({ task }) => task(computer, id).cancel, options)
  }),
  getTools: (computer, options) => run(({ getTools }) => getTools(computer), options),
  mcpServers: (computer, options) => run(({ mcpServers }) => mcpServers(computer), options),
  mcpRequest: (computer, request, options) => run(({ mcpRequest }) => mcpRequest(computer, request), options),
  fetchDocument: (computer, uri, { signal, ...how } = {}) =>
    run(({ fetchDocument }) => fetchDocument(computer, uri, how), { signal }),
  allResources: (computer, mcpServer, options) => run(({ allResources }) => allResources(computer, mcpServer), options),
  approvals: (options) => iterate(({ approvals }) => approvals, options),
  blob: (computer, handle, { signal, ...limits } = {}) => run(({ blob }) => blob(computer, handle, limits), { signal }),
  putBlob: (computer, bytes, { signal, ...how } = {}) =>
    run(({ putBlob }) => putBlob(computer, bytes, how), { signal }),
  readSkill: (computer, name, { relPath, signal, ...limits } = {}) =>
    run(({ readSkill }) => readSkill(computer, name, relPath, limits), { signal }),
  settled: (options) => run(({ settled }) => settled, options),
  view: (options) => run(({ view }) => view, options),
  changes: (options) => iterate(({ changes }) => changes, options),
  changesOf: (computer, options) => iterate(({ changesOf }) => changesOf(computer), options),
  events: (options) => iterate(({ events }) => events, options),
  status: (options) => iterate(({ status }) => status, options),
  mcpClient: ({ signal, ...options } = {}) =>
    run(
      (agent) => {
        const session = Effect.provideService(makeOfficeMcpSession({ ...options, office }), Agent, agent)
        return Effect.flatMap(session, makeMcpClient)
      },
      { signal }
    )
})

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
