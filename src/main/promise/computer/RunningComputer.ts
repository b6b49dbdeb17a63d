import { Effect, Result } from "effect"
import * as FileCatalogueStore from "../../../adapters/catalogues/FileCatalogueStore.ts"
import type { McpClientOptions } from "../../../adapters/mcp/client/McpClient.ts"
import type { Computer, ComputerOptions as CoreComputerOptions } from "../../../application/computer/Computer.ts"
import { resolveLocation } from "../../../adapters/dpe/resolver.ts"
import type { InProcessSessions } from "../../../application/computer/servers/InProcessConnector.ts"
import type { ComputerConfig } from "../../../domain/config/computerConfig.ts"
import { parseComputerConfig } from "../../../domain/config/parseConfig.ts"
import type { SetupDiff } from "../../../domain/config/Setup.ts"
import { errorMessage } from "../../../domain/errorMessage.ts"
import { A2cError, ConfigInvalid } from "../../A2cError.ts"
import { computerLayer, makeFunctions } from "../../layers/computerLayer.ts"
import { checkArguments, type ChecksOf } from "../checkArguments.ts"
import { toClientOptions } from "../ConnectedAgent.ts"
import type { MemberRows, MethodRows, PromisedMembers } from "../promisedMethods.ts"
import type { Cancellable } from "../RunningService.ts"
import { toLayerOptions } from "./computerHooks.ts"
import {
  computerChecks,
  computerRows,
  type JoinedComputer,
  type MemberComputerOptions,
  type RowMethods,
  startComputer
} from "./JoinedComputer.ts"

/** The configuration of a Computer. */
export interface ComputerSetup {
  /** A parsed configuration file: `{inputs, servers}` of A2C or VS Code, or `{mcpServers}`. */
  readonly config: unknown
  /** Values of `${name}` in the parameters of the servers, by server. Use inputs for secrets. */
  readonly variables?: { readonly [server: string]: { readonly [name: string]: string } }
}

/** Options of a Computer and its connection. */
export interface RunComputerOptions
  extends MemberComputerOptions,
    Omit<ComputerSetup, "config">,
    Pick<CoreComputerOptions, "skills" | "uploads">,
    Pick<McpClientOptions, "clientMetadataUrl" | "mcpRevision"> {
  /** As in {@link ComputerSetup}; without it the Computer has no MCP servers. */
  readonly config?: unknown
  /** A folder that keeps what lazy servers list; without it each of them starts once with the Computer. */
  readonly catalogues?: string
}

const memberRows = { setup: {} } satisfies MemberRows<Computer["Service"]>

/** A running Computer with MCP servers. Promises reject with an `A2cError`. */
export interface RunningComputer extends JoinedComputer, PromisedMembers<Computer["Service"], keyof typeof memberRows> {
  /** Applies another configuration. Unchanged servers keep their sessions. */
  readonly reconfigure: (setup: ComputerSetup, options?: Cancellable) => Promise<SetupDiff>
}

const parseConfig = (config: unknown): Result.Result<ComputerConfig, ConfigInvalid> =>
  Result.mapError(
    // A getter may throw.
    Result.flatMap(Result.try({ try: () => parseComputerConfig(config), catch: errorMessage }), (parsed) => parsed),
    (reason) => new ConfigInvalid({ message: `The configuration cannot be used: ${reason}` })
  )

const runChecks: ChecksOf<RunComputerOptions> = {
  ...computerChecks,
  catalogues: "text",
  clientMetadataUrl: "documentUrl",
  config: "object",
  mcpRevision: "mcpRevision",
  skills: { marketplaces: "strings", userFolder: "text" },
  uploads: { folder: ["text"], maxBytes: "count" },
  variables: { "*": { "*": "string" } }
}

const methodRows: MethodRows<Computer["Service"], RowMethods<RunningComputer>> = {
  ...computerRows,
  ...memberRows,
  reconfigure: {
    required: [{ config: ["object"], variables: runChecks.variables }],
    call: ({ reconfigure }, { config, variables = {} }) =>
      Effect.flatMap(Effect.fromResult(parseConfig(config)), (read) => reconfigure({ config: read, variables }))
  }
}

/** Runs a Computer with its MCP servers and functions, and joins `office` if given; otherwise `join` does that later. */
export const runComputer = async (options: RunComputerOptions, cancellable?: Cancellable): Promise<RunningComputer> => {
  checkArguments("runComputer", [runChecks], [options])
  const { catalogues, config = { servers: {} }, documents, tools, windows, ...others } = options
  const read = parseConfig(config)
  if (Result.isFailure(read)) throw new A2cError("config_invalid", read.failure.message)
  const hasFunctions = [documents, tools, windows].some((functions) => functions !== undefined)
  const layerOptions = toClientOptions(toLayerOptions(others))
  const makeLayer = (sessions: InProcessSessions) =>
    computerLayer({
      ...layerOptions,
      ...(catalogues !== undefined && { catalogues: FileCatalogueStore.layer(catalogues) }),
      ...(documents !== undefined && { settings: { resolveDpe: resolveLocation, ...layerOptions.settings } }),
      config: read.success,
      sessions
    })
  return startComputer(options, hasFunctions ? makeFunctions : undefined, makeLayer, methodRows, cancellable)
}
