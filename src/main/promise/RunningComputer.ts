import { Duration, Effect, Layer, Result, Stream } from "effect"
import { AuditLog } from "../../application/ports/AuditLog.ts"
import * as FileCatalogueStore from "../../adapters/catalogues/FileCatalogueStore.ts"
import { Computer, type ComputerOptions as CoreComputerOptions } from "../../application/computer/Computer.ts"
import type { DesktopQuery } from "../../application/computer/content/Desktop.ts"
import { isOffered, type ServerState, type ServerStates } from "../../application/computer/servers/ServersSnapshot.ts"
import type { JoinOptions, OfficeStatus } from "../../application/computer/office/OfficeConnection.ts"
import type { CallExplanation } from "../../domain/policy/CallExplanation.ts"
import type { ExplainRequest } from "../../application/computer/calls/CallConsent.ts"
import type { LocalCall, ToolCallRecord } from "../../application/computer/calls/ToolCalls.ts"
import type { McpInfo } from "../../application/ports/McpSession.ts"
import type { Approval, ApprovalAnswer, ApprovalDecision } from "../../domain/approvals/Approval.ts"
import type { Grant } from "../../domain/approvals/standingApprovals.ts"
import { parseComputerConfig } from "../../domain/config/parseConfig.ts"
import type { Setup, SetupDiff } from "../../domain/config/Setup.ts"
import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import type { Catalogue } from "../../domain/tools/catalogue.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { computerLayer } from "../layers/computerLayer.ts"
import { A2cError, ConfigInvalid } from "../A2cError.ts"
import { type ConnectionOptions, toClientOptions } from "./ConnectedAgent.ts"
import { approvalAnswer, connectionChecks } from "./connectWithLayer.ts"
import { type ComputerHooks, toLayerOptions, toPolicyLayer } from "./computerHooks.ts"
import { checkArguments, type ChecksOf, withCheckedArguments } from "./checkArguments.ts"
import { durations } from "./durations.ts"
import { type Cancellable, type Closeable, type RunningService, startService } from "./RunningService.ts"

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
    ? Omit<State, "session" | "onRequest"> & { readonly info: McpInfo }
    : State
  : never

/** A running Computer. Promises reject with an `A2cError`. */
export interface RunningComputer extends Closeable {
  /** The state of every configured MCP server, in the order of the configuration. */
  readonly servers: (options?: Cancellable) => Promise<ReadonlyMap<string, ServerStateView>>
  /** The same now, and after every change. */
  readonly changes: (options?: Cancellable) => AsyncIterable<ReadonlyMap<string, ServerStateView>>
  /** The tools of the office, and the hidden tools with their reasons. */
  readonly catalogue: (options?: Cancellable) => Promise<Catalogue>
  /** The latest calls that reached a server, oldest first. */
  readonly history: (options?: Cancellable) => Promise<ReadonlyArray<ToolCallRecord>>
  /** The current configuration, with unresolved placeholders. */
  readonly setup: (options?: Cancellable) => Promise<Setup>
  /** Applies another configuration. Unchanged servers keep their sessions. */
  readonly reconfigure: (setup: ComputerSetup, options?: Cancellable) => Promise<SetupDiff>
  /** Starts a stopped or idle server, even a disabled one; resolves once it runs or has failed. */
  readonly start: (server: string, options?: Cancellable) => Promise<void>
  /** Stops a server until it is started again. Its in-flight calls fail. */
  readonly stop: (server: string, options?: Cancellable) => Promise<void>
  /** Stops a server and starts it again; a lazy one starts on the next request. */
  readonly restart: (server: string, options?: Cancellable) => Promise<void>
  /** Calls a tool locally, without consent unless the call has a `requester`. `timeout` in seconds. */
  readonly callTool: (
    call: Omit<LocalCall, "timeout" | "params" | "responder"> & {
      readonly params?: LocalCall["params"]
      readonly timeout?: number
    },
    options?: Cancellable
  ) => Promise<ToolResult>
  /** The calls that wait for an approval, and open questions, the oldest one first; now, and after every change. */
  readonly approvals: (options?: Cancellable) => AsyncIterable<ReadonlyArray<Approval>>
  /**
   * Decides about a call that waits for an approval, or answers a question, as the owner unless `by` names another
   * approver. The first answer counts: a later one rejects with the code 409, and one for a call that does not wait with 404.
   */
  readonly decideApproval: (
    id: string,
    answer: ApprovalAnswer & { readonly by?: string },
    options?: Cancellable
  ) => Promise<ApprovalDecision>
  /** What approvers allow beyond one call. */
  readonly grants: (options?: Cancellable) => Promise<ReadonlyArray<Grant>>
  /** Ends a grant; false when no grant has this id. */
  readonly revokeGrant: (id: string, options?: Cancellable) => Promise<boolean>
  /** How a call of an Agent or operator is decided, and by which rule; `undefined` for an unknown tool. */
  readonly explain: (
    request: Omit<ExplainRequest, "params"> & { readonly params?: ExplainRequest["params"] },
    options?: Cancellable
  ) => Promise<CallExplanation | undefined>
  /** The desktop as the office sees it. */
  readonly desktop: (options?: Cancellable & DesktopQuery) => Promise<ReadonlyArray<string>>
  /** The status of the membership, now and after every change. */
  readonly status: (options?: Cancellable) => AsyncIterable<OfficeStatus>
  /** The office of the Computer, also while it reconnects. */
  readonly office: (options?: Cancellable) => Promise<string | undefined>
  readonly join: (request: ComputerJoinOptions, options?: Cancellable) => Promise<void>
  /** Leaves the office; the servers keep running. In-flight calls of its Agent end. */
  readonly leave: (options?: Cancellable) => Promise<void>
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

const wrapComputer = ({ iterate, run, ...closeable }: RunningService<Computer["Service"]>): RunningComputer => ({
  ...closeable,
  servers: (options) => run(({ servers }) => Effect.map(servers, toServerStateViews), options),
  changes: (options) => iterate(({ changes }) => Stream.map(changes, toServerStateViews), options),
  catalogue: (options) => run(({ catalogue }) => catalogue, options),
  history: (options) => run(({ history }) => history, options),
  setup: (options) => run(({ setup }) => setup, options),
  reconfigure: ({ config, variables = {} }, options) =>
    run(
      ({ reconfigure }) =>
        Effect.flatMap(Effect.fromResult(parseConfig(config)), (read) => reconfigure({ config: read, variables })),
      options
    ),
  start: (server, options) => run((computer) => computer.start(server), options),
  stop: (server, options) => run(({ stop }) => stop(server), options),
  restart: (server, options) => run(({ restart }) => restart(server), options),
  callTool: ({ params = {}, timeout, ...call }, options) =>
    run(({ callTool }) => {
      const limit = timeout === undefined ? {} : { timeout: Duration.seconds(timeout) }
      return callTool({ ...call, params, ...limit })
    }, options),
  approvals: (options) => iterate(({ approvals }) => approvals, options),
  decideApproval: (id, { by, ...answer }, options) =>
    run(({ decideApproval }) => decideApproval(id, answer, by), options),
  grants: (options) => run(({ grants }) => grants, options),
  revokeGrant: (id, options) => run(({ revokeGrant }) => revokeGrant(id), options),
  explain: ({ params = {}, ...request }, options) => run(({ explain }) => explain({ ...request, params }), options),
  desktop: ({ signal, ...which } = {}) => run(({ desktop }) => desktop(which), { signal }),
  status: (options) => iterate(({ status }) => status, options),
  office: (options) => run(({ office }) => office, options),
  join: ({ wait, ...request }, options) => run(({ join }) => join({ ...request, ...durations({ wait }) }), options),
  leave: (options) => run(({ leave }) => leave, options)
})

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

/** Runs a Computer with its MCP servers, and joins `office` if given; otherwise `join` does that later. */
export const runComputer = async (options: RunComputerOptions, cancellable?: Cancellable): Promise<RunningComputer> => {
  checkArguments("runComputer", [computerOptions], [options])
  const {
    approve: _approve,
    approvers: _approvers,
    authorize: _authorize,
    catalogues,
    config,
    confirm: _confirm,
    onInput: _onInput,
    inputs: _inputs,
    policy: _policy,
    settings: _settings,
    ...connection
  } = options
  const read = parseConfig(config)
  if (Result.isFailure(read)) throw new A2cError("config_invalid", read.failure.message)
  const layer = computerLayer({
    ...toClientOptions(connection),
    ...toLayerOptions(options),
    ...(catalogues !== undefined && { catalogues: FileCatalogueStore.layer(catalogues) }),
    config: read.success
  }).pipe(Layer.provide([toPolicyLayer(options), AuditLog.layerNone]))
  return withCheckedArguments(wrapComputer(await startService(Computer, layer, options.log, cancellable)), {
    required: {
      reconfigure: [{ config: ["object"], variables: computerOptions.variables }],
      start: ["string"],
      stop: ["string"],
      restart: ["string"],
      callTool: [{ params: "object", requester: "string", timeout: "seconds", tool: ["string"] }],
      decideApproval: ["string", approvalAnswer],
      revokeGrant: ["string"],
      explain: [{ line: "string", office: "string", params: "object", subject: ["string"], tool: ["string"] }],
      join: [joinOptions],
      desktop: []
    },
    options: { desktop: { size: "count", window: "string" } satisfies ChecksOf<DesktopQuery> }
  })
}
