import { Duration, Effect, Result, Stream } from "effect"
import { Computer, type ComputerOptions as CoreComputerOptions } from "../../application/computer/Computer.ts"
import type { DesktopRequest } from "../../application/computer/content/Desktop.ts"
import type { ServerState, ServerStates } from "../../application/computer/servers/ServerState.ts"
import type { JoinOptions, OfficeStatus } from "../../application/computer/office/OfficeConnection.ts"
import type { LocalCall, ToolCallRecord } from "../../application/computer/calls/ToolCalls.ts"
import type { McpInfo } from "../../application/ports/McpSession.ts"
import { parseComputerConfig } from "../../domain/config/parseConfig.ts"
import type { Setup, SetupDiff } from "../../domain/config/Setup.ts"
import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import type { Catalogue } from "../../domain/tools/catalogue.ts"
import { computerLayer } from "../layers/computerLayer.ts"
import { A2cError, ConfigInvalid } from "./A2cError.ts"
import { type ConnectionOptions, toClientOptions } from "./ConnectedAgent.ts"
import { type ComputerHooks, toLayerOptions } from "./computerHooks.ts"
import { type Cancellable, type Closeable, type RunningService, startService } from "./RunningService.ts"

/** What a Computer drives. */
export interface ComputerSetup {
  /** What a configuration file holds, parsed: `{inputs, servers}` as A2C or VS Code writes it, or `{mcpServers}`. */
  readonly config: unknown
  /** What stands for `${name}` in the parameters of the servers, by server. Secrets are inputs, not variables. */
  readonly variables?: { readonly [server: string]: { readonly [name: string]: string } }
}

/** Who the Computer is, where, and what it drives. */
export interface ComputerOptions
  extends ConnectionOptions,
    ComputerSetup,
    ComputerHooks,
    Pick<CoreComputerOptions, "name" | "office" | "retryInitialConnect"> {}

/** Where an MCP server stands; while it runs, with what it told about itself. */
export type ServerStateView = ServerState extends infer State
  ? State extends { readonly session: unknown }
    ? Omit<State, "session"> & { readonly info: McpInfo }
    : State
  : never

/** A Computer that runs. Promises are rejected with an `A2cError`. */
export interface RunningComputer extends Closeable {
  /** Every configured MCP server and where it stands, in configuration order. */
  readonly servers: (options?: Cancellable) => Promise<ReadonlyMap<string, ServerStateView>>
  /** The same now, and after every change. */
  readonly changes: (options?: Cancellable) => AsyncIterable<ReadonlyMap<string, ServerStateView>>
  /** What the office can call, and what is hidden and why. */
  readonly catalogue: (options?: Cancellable) => Promise<Catalogue>
  /** The last calls that reached a server, oldest first. */
  readonly history: (options?: Cancellable) => Promise<ReadonlyArray<ToolCallRecord>>
  /** What is configured now, with its placeholders unfilled. */
  readonly setup: (options?: Cancellable) => Promise<Setup>
  /** Makes the servers those of another configuration. Whoever did not change keeps its session. */
  readonly reconfigure: (setup: ComputerSetup, options?: Cancellable) => Promise<SetupDiff>
  /** Starts a server that does not run, even a disabled one, and waits until it runs or cannot. */
  readonly start: (server: string, options?: Cancellable) => Promise<void>
  /** Stops a server until it is started again. Its running calls end with an error. */
  readonly stop: (server: string, options?: Cancellable) => Promise<void>
  /** Stops a server and starts it again. */
  readonly restart: (server: string, options?: Cancellable) => Promise<void>
  /** Calls a tool as the Computer's own people may: nobody is asked for consent. `timeout` in seconds. */
  readonly callTool: (
    call: Omit<LocalCall, "timeout" | "params"> & {
      readonly params?: LocalCall["params"]
      readonly timeout?: number
    },
    options?: Cancellable
  ) => Promise<ToolResult>
  /** The desktop as the office would see it. */
  readonly desktop: (options?: Cancellable & DesktopRequest) => Promise<ReadonlyArray<string>>
  /** Where the Computer stands with the Server, now and after every change. */
  readonly status: (options?: Cancellable) => AsyncIterable<OfficeStatus>
  /** The office the Computer is in or comes back to. */
  readonly office: (options?: Cancellable) => Promise<string | undefined>
  readonly join: (request: JoinOptions, options?: Cancellable) => Promise<void>
  /** Leaves the office; the servers run on. Calls for its Agent end. */
  readonly leave: (options?: Cancellable) => Promise<void>
}

const parseConfig = (config: unknown): Result.Result<ComputerConfig, ConfigInvalid> =>
  Result.mapError(
    parseComputerConfig(config),
    (reason) => new ConfigInvalid({ message: `The configuration cannot be used: ${reason}` })
  )

const toServerStateView = (state: ServerState): ServerStateView => {
  if (state._tag !== "Ready" && state._tag !== "Degraded") return state
  const { session, ...rest } = state
  return { ...rest, info: session.info }
}

const toServerStateViews = (states: ServerStates): ReadonlyMap<string, ServerStateView> =>
  new Map([...states].map(([name, state]) => [name, toServerStateView(state)]))

const wrapComputer = ({
  iterate,
  run,
  ...closeable
}: RunningService<Computer["Service"]>): RunningComputer => ({
  ...closeable,
  servers: (options) => run(({ servers }) => Effect.map(servers, toServerStateViews), options),
  changes: (options) => iterate(({ changes }) => Stream.map(changes, toServerStateViews), options),
  catalogue: (options) => run(({ catalogue }) => catalogue, options),
  history: (options) => run(({ history }) => history, options),
  setup: (options) => run(({ setup }) => setup, options),
  reconfigure: ({ config, variables = {} }, options) =>
    run(
      ({ reconfigure }) =>
        Effect.flatMap(Effect.fromResult(parseConfig(config)), (read) =>
          reconfigure({ config: read, variables })
        ),
      options
    ),
  start: (server, options) => run((computer) => computer.start(server), options),
  stop: (server, options) => run(({ stop }) => stop(server), options),
  restart: (server, options) => run(({ restart }) => restart(server), options),
  callTool: ({ params = {}, timeout, tool }, options) =>
    run(
      ({ callTool }) =>
        callTool({ tool, params, ...(timeout !== undefined && { timeout: Duration.seconds(timeout) }) }),
      options
    ),
  desktop: ({ signal, ...which } = {}) => run(({ desktop }) => desktop(which), { signal }),
  status: (options) => iterate(({ status }) => status, options),
  office: (options) => run(({ office }) => office, options),
  join: (request, options) => run(({ join }) => join(request), options),
  leave: (options) => run(({ leave }) => leave, options)
})

/**
 * Runs a Computer with its MCP servers, and joins its office if one is given; otherwise it stays away until it is told
 * to join.
 */
export const runComputer = async (
  options: ComputerOptions,
  cancellable?: Cancellable
): Promise<RunningComputer> => {
  const { authorize: _authorize, config, inputs: _inputs, settings: _settings, ...connection } = options
  const read = parseConfig(config)
  if (Result.isFailure(read)) throw new A2cError("config_invalid", read.failure.message)
  const layer = computerLayer({
    ...toClientOptions(connection),
    ...toLayerOptions(options),
    config: read.success
  })
  return wrapComputer(await startService(Computer, layer, options.log, cancellable))
}
