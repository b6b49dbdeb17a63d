import { Duration, Effect, Layer, Result, Stream } from "effect"
import { AuditLog } from "../../application/ports/AuditLog.ts"
import * as FileCatalogueStore from "../../adapters/catalogues/FileCatalogueStore.ts"
import { Computer, type ComputerOptions as CoreComputerOptions } from "../../application/computer/Computer.ts"
import type { DesktopQuery } from "../../application/computer/content/Desktop.ts"
import { isOffered, type ServerState, type ServerStates } from "../../application/computer/servers/ServersSnapshot.ts"
import type { JoinOptions } from "../../application/computer/office/OfficeConnection.ts"
import type { CallExplanation } from "../../domain/policy/CallExplanation.ts"
import type { ExplainRequest } from "../../application/computer/calls/CallConsent.ts"
import type { LocalCall } from "../../application/computer/calls/ToolCalls.ts"
import type { McpInfo } from "../../application/ports/McpSession.ts"
import type { ApprovalAnswer, ApprovalDecision } from "../../domain/approvals/Approval.ts"
import { parseComputerConfig } from "../../domain/config/parseConfig.ts"
import type { SetupDiff } from "../../domain/config/Setup.ts"
import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { computerLayer } from "../layers/computerLayer.ts"
import { A2cError, ConfigInvalid } from "../A2cError.ts"
import { type ConnectionOptions, toClientOptions } from "./ConnectedAgent.ts"
import { approvalAnswer, connectionChecks } from "./connectWithLayer.ts"
import { type ComputerHooks, toLayerOptions, toPolicyLayer } from "./computerHooks.ts"
import { checkArguments, type ChecksOf } from "./checkArguments.ts"
import { durations } from "./durations.ts"
import { makeMethods, type MemberRows, type MethodRows, type PromisedMembers } from "./promisedMethods.ts"
import { type Cancellable, type Closeable, startService } from "./RunningService.ts"

/** The configuration of a Computer. */
export interface ComputerSetup {
  /** A parsed configuration file: `{inputs, servers}` of A2C or VS Code, or `{mcpServers}`. */
  readonly config: unknown
  /** Values of `${name}` in the parameters of the servers, by server. Use inputs for secrets. */
  readonly variables?: { readonly [server: string]: { readonly [name: string]: string } }
}

/** Options of a Computer and its connection. */
export interface RunComputerOptions
  extends ConnectionOptions,
    ComputerSetup,
    ComputerHooks,
    Pick<
      CoreComputerOptions,
      "name" | "office" | "operators" | "protocol" | "retryInitialConnect" | "skills" | "takeOver" | "uploads"
    > {
  /** A folder that keeps what lazy servers list; without it each of them starts once with the Computer. */
  readonly catalogues?: string
}

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
  setup: {},
  start: { required: ["string"] },
  status: { iterates: true },
  stop: { required: ["string"] }
} satisfies MemberRows<Computer["Service"]>

/** A running Computer. Promises reject with an `A2cError`. */
export interface RunningComputer extends Closeable, PromisedMembers<Computer["Service"], keyof typeof memberRows> {
  /** The state of every configured MCP server, in the order of the configuration. */
  readonly servers: (options?: Cancellable) => Promise<ReadonlyMap<string, ServerStateView>>
  /** The same now, and after every change. */
  readonly changes: (options?: Cancellable) => AsyncIterable<ReadonlyMap<string, ServerStateView>>
  /** Applies another configuration. Unchanged servers keep their sessions. */
  readonly reconfigure: (setup: ComputerSetup, options?: Cancellable) => Promise<SetupDiff>
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

const parseConfig = (config: unknown): Result.Result<ComputerConfig, ConfigInvalid> =>
  Result.mapError(
    // A getter may throw.
    Result.flatMap(Result.try({ try: () => parseComputerConfig(config), catch: errorMessage }), (parsed) => parsed),
    (reason) => new ConfigInvalid({ message: `The configuration cannot be used: ${reason}` })
  )

const toServerStateView = (state: ServerState): ServerStateView => {
  if (!isOffered(state)) return state
  const { lazyControl: _, session, ...rest } = state
  return { ...rest, info: session.info }
}

const toServerStateViews = (states: ServerStates): ReadonlyMap<string, ServerStateView> =>
  new Map([...states].map(([name, state]) => [name, toServerStateView(state)]))

const computerOptions: ChecksOf<RunComputerOptions> = {
  ...connectionChecks,
  approve: "strings",
  approvers: "approvers",
  authorize: "function",
  catalogues: "text",
  config: ["object"],
  confirm: "function",
  inputs: { ask: "function", run: "function", values: { "*": "inputValue" } },
  name: ["identifier"],
  office: "identifier",
  onInput: "function",
  operators: { calls: "boolean", states: "boolean", stderr: "boolean" },
  policy: "function",
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
  skills: { marketplaces: "strings", userFolder: "text" },
  takeOver: "boolean",
  uploads: { folder: ["text"], maxBytes: "count" },
  variables: { "*": { "*": "string" } }
}

const joinOptions: ChecksOf<ComputerJoinOptions> = {
  office: ["identifier"],
  protocol: "protocol",
  retryInitialConnect: "boolean",
  takeOver: "boolean",
  wait: "millis"
}

const methodRows: MethodRows<Computer["Service"], Omit<RunningComputer, keyof Closeable>> = {
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
  reconfigure: {
    required: [{ config: ["object"], variables: computerOptions.variables }],
    call: ({ reconfigure }, { config, variables = {} }) =>
      Effect.flatMap(Effect.fromResult(parseConfig(config)), (read) => reconfigure({ config: read, variables }))
  },
  servers: { call: ({ servers }) => Effect.map(servers, toServerStateViews) }
}

/** Runs a Computer with its MCP servers, and joins `office` if given; otherwise `join` does that later. */
export const runComputer = async (options: RunComputerOptions, cancellable?: Cancellable): Promise<RunningComputer> => {
  checkArguments("runComputer", [computerOptions], [options])
  const { catalogues, config, ...others } = options
  const read = parseConfig(config)
  if (Result.isFailure(read)) throw new A2cError("config_invalid", read.failure.message)
  const layer = computerLayer({
    ...toClientOptions(toLayerOptions(others)),
    ...(catalogues !== undefined && { catalogues: FileCatalogueStore.layer(catalogues) }),
    config: read.success
  }).pipe(Layer.provide([toPolicyLayer(options), AuditLog.layerNone]))
  const { iterate, run, ...closeable } = await startService(Computer, layer, options.log, cancellable)
  return { ...makeMethods({ iterate, run }, methodRows), ...closeable }
}
