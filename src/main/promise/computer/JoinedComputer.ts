import { Duration, Effect, Layer, type Scope, Stream } from "effect"
import type { Functions } from "../../../adapters/functions/FunctionDefinitions.ts"
import { functionsName, InvalidFunction, type OfferedFunctions } from "../../../adapters/functions/makeFunctions.ts"
import type { Policy } from "../../../application/ports/approvals/Policy.ts"
import { AuditLog } from "../../../application/ports/AuditLog.ts"
import { Computer, type ComputerOptions as CoreComputerOptions } from "../../../application/computer/Computer.ts"
import type { DesktopQuery } from "../../../application/computer/content/Desktop.ts"
import {
  isOffered,
  type ServerState,
  type ServerStates
} from "../../../application/computer/servers/ServersSnapshot.ts"
import type { InProcessSessions } from "../../../application/computer/servers/InProcessConnector.ts"
import type { JoinOptions } from "../../../application/computer/office/OfficeConnection.ts"
import type { CallExplanation } from "../../../domain/policy/CallExplanation.ts"
import type { ExplainRequest } from "../../../application/computer/calls/CallConsent.ts"
import type { LocalCall } from "../../../application/computer/calls/ToolCalls.ts"
import type { McpInfo } from "../../../application/ports/McpSession.ts"
import type { ApprovalAnswer, ApprovalDecision } from "../../../domain/approvals/Approval.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { A2cError, type ExpectedError } from "../../A2cError.ts"
import type { ChecksOf } from "../checkArguments.ts"
import type { ConnectionOptions } from "../ConnectedAgent.ts"
import { approvalAnswer, connectionChecks } from "../connectWithLayer.ts"
import { type ComputerHooks, toPolicyLayer } from "./computerHooks.ts"
import { durations } from "../durations.ts"
import { makeMethods, type MemberRows, type MethodRows, type PromisedMembers } from "../promisedMethods.ts"
import { type Cancellable, type Closeable, startService } from "../RunningService.ts"

/** Options of every Computer and its connection. */
export interface MemberComputerOptions
  extends ConnectionOptions,
    ComputerHooks,
    Functions,
    Pick<CoreComputerOptions, "name" | "office" | "operators" | "protocol" | "retryInitialConnect" | "takeOver"> {}

/** An office to join, and what differs from the options of the Computer; `wait` in milliseconds. */
export interface ComputerJoinOptions extends Omit<JoinOptions, "wait">, Pick<ConnectionOptions, "wait"> {}

/**
 * The state of an MCP server; while it runs or is idle, with its MCP server info. Without `info.capabilities.subscribe` its windows
 * and documents are shown only with `showUnsubscribable`, and without updates.
 */
export type ServerStateView = ServerState extends infer State
  ? State extends { readonly session: unknown }
    ? Omit<State, "session" | "lazyControl"> & { readonly info: McpInfo }
    : State
  : never

/** The members of a Computer that are promised as they are. */
const memberRows = {
  approvals: { iterates: true },
  catalogue: {},
  grants: {},
  history: {},
  leave: {},
  office: {},
  restart: { required: ["string"] },
  revokeGrant: { required: ["string"] },
  start: { required: ["string"] },
  status: { iterates: true },
  stop: { required: ["string"] }
} satisfies MemberRows<Computer["Service"]>

/** Changes what functions a Computer offers. */
type Changing = Pick<OfferedFunctions, "offer" | "changed">

/** A Computer that runs. Promises reject with an `A2cError`. */
export interface JoinedComputer
  extends Closeable,
    Changing,
    PromisedMembers<Computer["Service"], keyof typeof memberRows> {
  /** The state of every configured MCP server, in the order of the configuration. */
  readonly servers: (options?: Cancellable) => Promise<ReadonlyMap<string, ServerStateView>>
  /** The same now, and after every change. */
  readonly changes: (options?: Cancellable) => AsyncIterable<ReadonlyMap<string, ServerStateView>>
  /** Calls a tool locally, without consent unless the call has a `requester`. `timeout` in seconds. */
  readonly callTool: (
    call: Omit<LocalCall, "timeout" | "params" | "responder"> & {
      readonly params?: LocalCall["params"]
      readonly timeout?: number
    },
    options?: Cancellable
  ) => Promise<ToolResult>
  /**
   * Decides about a call that waits for an approval, or answers a question, as the owner unless `by` names another
   * approver. The first answer counts: a later one rejects with the code 409, and one for a call that does not wait with 404.
   */
  readonly decideApproval: (
    id: string,
    answer: ApprovalAnswer & { readonly by?: string },
    options?: Cancellable
  ) => Promise<ApprovalDecision>
  /** How a call of an Agent or operator is decided, and by which rule; `undefined` for an unknown tool. */
  readonly explain: (
    request: Omit<ExplainRequest, "params"> & { readonly params?: ExplainRequest["params"] },
    options?: Cancellable
  ) => Promise<CallExplanation | undefined>
  /** The desktop as the office sees it. */
  readonly desktop: (options?: Cancellable & DesktopQuery) => Promise<ReadonlyArray<string>>
  readonly join: (request: ComputerJoinOptions, options?: Cancellable) => Promise<void>
}

const toServerStateView = (state: ServerState): ServerStateView => {
  if (!isOffered(state)) return state
  const { lazyControl: _, session, ...rest } = state
  return { ...rest, info: session.info }
}

const toServerStateViews = (states: ServerStates): ReadonlyMap<string, ServerStateView> =>
  new Map([...states].map(([name, state]) => [name, toServerStateView(state)]))

export const computerChecks: ChecksOf<MemberComputerOptions> = {
  ...connectionChecks,
  approve: "strings",
  approvers: "approvers",
  authorize: "function",
  confirm: "function",
  documents: "objects",
  inputs: { ask: "function", run: "function", values: { "*": "inputValue" } },
  name: ["identifier"],
  office: "identifier",
  onInput: "function",
  operators: { calls: "boolean", states: "boolean", stderr: "boolean" },
  policy: "policy",
  protocol: "protocol",
  retryInitialConnect: "boolean",
  settings: {
    approvalTimeout: "millis",
    changeThrottle: "millis",
    connectTimeout: "limit",
    idle: "millis",
    keepaliveInterval: "limit",
    lifecycle: "lifecycle",
    onProgress: "function",
    readTimeout: "limit",
    resolveDpe: "function",
    showUnsubscribable: "boolean",
    startupTimeout: "millis"
  },
  takeOver: "boolean",
  tools: "objects",
  windows: "objects"
}

const joinOptions: ChecksOf<ComputerJoinOptions> = {
  office: ["identifier"],
  protocol: "protocol",
  retryInitialConnect: "boolean",
  takeOver: "boolean",
  wait: "millis"
}

/** The methods that are rows of a table. */
export type RowMethods<Joined> = Omit<Joined, keyof Closeable | keyof Changing>

export const computerRows: MethodRows<Computer["Service"], RowMethods<JoinedComputer>> = {
  ...memberRows,
  callTool: {
    required: [{ params: "object", requester: "string", timeout: "seconds", tool: ["string"] }],
    call: ({ callTool }, { params = {}, timeout, ...call }) =>
      callTool({ ...call, params, ...(timeout !== undefined && { timeout: Duration.seconds(timeout) }) })
  },
  changes: { iterates: true, call: ({ changes }) => Stream.map(changes, toServerStateViews) },
  decideApproval: {
    required: ["string", approvalAnswer],
    call: ({ decideApproval }, id, { by, ...answer }) => decideApproval(id, answer, by)
  },
  desktop: { options: { size: "count", window: "string" } },
  explain: {
    required: [{ line: "string", office: "string", params: "object", subject: ["string"], tool: ["string"] }],
    call: ({ explain }, { params = {}, ...request }) => explain({ ...request, params })
  },
  join: {
    required: [joinOptions],
    call: ({ join }, { wait, ...request }) => join({ ...request, ...durations({ wait }) })
  },
  servers: { call: ({ servers }) => Effect.map(servers, toServerStateViews) }
}

/** The functions of a program, as a session of the Computer. */
type MakeFunctions = (functions: Functions) => Effect.Effect<OfferedFunctions, InvalidFunction, Scope.Scope>

/** Starts a Computer of a layer with functions of the program, where `makeFunctions` makes them a session. */
export const startComputer = async <Methods>(
  { log, ...options }: MemberComputerOptions,
  makeFunctions: MakeFunctions | undefined,
  makeLayer: (sessions: InProcessSessions) => Layer.Layer<Computer, ExpectedError, Policy | AuditLog>,
  rows: MethodRows<Computer["Service"], Methods>,
  cancellable: Cancellable | undefined
): Promise<Methods & Closeable & Changing> => {
  const { documents = [], tools = [], windows = [] } = options
  let functions: OfferedFunctions | undefined
  const layer = Layer.unwrap(
    Effect.gen(function* () {
      functions = yield* makeFunctions?.({ documents, tools, windows }) ?? Effect.undefined
      return makeLayer(functions === undefined ? {} : { [functionsName]: functions.session })
    })
  ).pipe(Layer.provide([toPolicyLayer(options), AuditLog.layerNone]))
  const { iterate, run, ...closeable } = await startService(Computer, layer, log, cancellable)
  const offered = (): OfferedFunctions => {
    if (functions !== undefined) return functions
    throw new A2cError("config_invalid", "offer: start the Computer with 'tools', 'windows' or 'documents', such as []")
  }
  return {
    ...makeMethods({ iterate, run }, rows),
    offer: (more) => {
      try {
        return offered().offer(more)
      } catch (error) {
        throw error instanceof InvalidFunction ? new A2cError("config_invalid", error.message) : error
      }
    },
    changed: (name) => offered().changed(name),
    ...closeable
  }
}
