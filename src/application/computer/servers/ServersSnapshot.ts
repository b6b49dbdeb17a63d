import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import { isWindowUri } from "../../../domain/desktop/WindowUri.ts"
import { parseDocumentUri } from "../../../domain/documents/findDocuments.ts"
import { type HostConflict, findHostConflicts } from "../../../domain/documents/hostConflicts.ts"
import { isShallowEqual } from "../../../domain/objects.ts"
import { type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { Tool } from "../../../domain/model/Tool.ts"
import {
  buildCatalogue,
  type Catalogue,
  type ListedTool,
  listTools,
  type ServerTools
} from "../../../domain/tools/catalogue.ts"
import { type Naming, plainNaming } from "../../../domain/tools/naming.ts"
import type { McpSession } from "../../ports/McpSession.ts"

export interface RunningMcpServer {
  readonly config: ServerConfig
  readonly session: McpSession
  readonly tools: ReadonlyArray<JsonObject>
  readonly resources: ReadonlyArray<JsonObject>
}

/** Why a server does not run. */
interface ServerFailure {
  /** For the owner: it may quote stderr. */
  readonly reason: string
  /** The reason without output of the server. */
  readonly publicReason: string
}

export type ServerState =
  /** Disabled in the configuration, or stopped by the user. */
  | { readonly _tag: "Stopped"; readonly reason: "disabled" | "stopped_by_user" }
  /** `attempt` counts from 1 and restarts after a stable session. */
  | { readonly _tag: "Starting"; readonly attempt: number }
  | ({ readonly _tag: "Ready" } & RunningMcpServer)
  /** The server is running with reduced function. */
  | ({ readonly _tag: "Degraded"; readonly reason: string } & RunningMcpServer)
  /** The server exited or failed to start; it restarts at `retryAt`, in milliseconds since 1970. */
  | ({ readonly _tag: "BackingOff"; readonly attempt: number; readonly retryAt: number } & ServerFailure)
  /** The failure is permanent: the server needs another configuration. */
  | ({ readonly _tag: "Failed" } & ServerFailure)

/** States by server name, in configuration order. */
export type ServerStates = ReadonlyMap<string, ServerState>

export const isRunning = (state: ServerState | undefined): state is Extract<ServerState, RunningMcpServer> =>
  state?._tag === "Ready" || state?._tag === "Degraded"

/** The names of the servers in their first start attempt: nothing is known of their tools. */
export const startingServersOf = (states: ServerStates): ReadonlyArray<string> =>
  [...states].flatMap(([name, state]) => (state._tag === "Starting" && state.attempt === 1 ? [name] : []))

/** Texts that identify the current content of parts of a Computer: equal texts mean no change. */
export type Fingerprints = ReadonlyMap<ComputerPart, string>

type Servers = ReadonlyArray<RunningMcpServer>

/** The states of all servers, and what they offer together. Servers are in configuration order. */
export interface ServersSnapshot {
  readonly states: ServerStates
  /** How the office names servers and tools. */
  readonly naming: Naming
  /** The names of the servers in their first start attempt. */
  readonly starting: ReadonlyArray<string>
  readonly running: Servers
  /** The running servers whose windows and documents are shown. */
  readonly shown: Servers
  readonly catalogue: Catalogue
  readonly hostConflicts: ReadonlyArray<HostConflict>
  readonly fingerprints: Fingerprints
}

/** The URI of a listed resource, else the empty string. */
export const uriOf = ({ uri }: JsonObject): string => stringOrEmpty(uri)

const urisOf = ({ resources }: RunningMcpServer, matches: (uri: string) => boolean): ReadonlyArray<string> =>
  resources.map(uriOf).filter(matches)

export const isDocumentUri = (uri: string): boolean => parseDocumentUri(uri) !== undefined

/** The windows and documents of a server that supports subscriptions. */
export const watchedUris = (server: RunningMcpServer): ReadonlySet<string> =>
  new Set(
    server.session.info.capabilities.subscribe ? urisOf(server, (uri) => isWindowUri(uri) || isDocumentUri(uri)) : []
  )

const setFingerprint = (servers: Servers, matches: (uri: string) => boolean): string =>
  JSON.stringify([...new Set(servers.flatMap((server) => urisOf(server, matches)))].sort())

/** The tools of servers that have not changed, with what they were made of. */
const listings = new WeakMap<
  ReadonlyArray<JsonObject>,
  { readonly config: ServerConfig; readonly naming: Naming; readonly listed: ReadonlyArray<ListedTool> }
>()

/** Lists the tools of a server once: a Computer with many servers makes its catalogue again as each of them starts. */
const listToolsOnce = (server: ServerTools, naming: Naming): ReadonlyArray<ListedTool> => {
  const { config, tools } = server
  const known = listings.get(tools)
  if (known?.config === config && known.naming === naming) return known.listed
  const listed = listTools(server, naming)
  listings.set(tools, { config, naming, listed })
  return listed
}

const toolTexts = new WeakMap<Tool, string>()

const toolText = (tool: Tool): string => {
  const text = toolTexts.get(tool) ?? JSON.stringify(tool)
  toolTexts.set(tool, text)
  return text
}

const catalogueInputs = (running: Servers) => running.flatMap(({ config, tools }) => [config, tools])

const catalogueOf = (running: Servers, naming: Naming, previous: ServersSnapshot | undefined) => {
  if (previous?.naming === naming && isShallowEqual(catalogueInputs(previous.running), catalogueInputs(running))) {
    return { catalogue: previous.catalogue, toolListFingerprint: previous.fingerprints.get("toolList") ?? "" }
  }
  const catalogue = buildCatalogue(running, naming, listToolsOnce)
  const toolListFingerprint = [...catalogue.entries.values()].map(({ tool }) => toolText(tool)).join()
  return { catalogue, toolListFingerprint }
}

const hostConflictsOf = (running: Servers, previous: ServersSnapshot | undefined) => {
  const listings = (servers: Servers) => servers.flatMap(({ config, resources }) => [config.name, resources])
  return previous !== undefined && isShallowEqual(listings(previous.running), listings(running))
    ? previous.hostConflicts
    : findHostConflicts(running.map((server) => ({ name: server.config.name, uris: urisOf(server, () => true) })))
}

/**
 * Builds the snapshot of servers in these states and reuses the unchanged parts of `previous`. Windows and documents of
 * servers without subscriptions are hidden (seed 001) unless `showUnsubscribable` is set.
 */
export const makeServersSnapshot = (
  states: ServerStates,
  showUnsubscribable: boolean,
  previous?: ServersSnapshot,
  naming = previous?.naming ?? plainNaming
): ServersSnapshot => {
  const running = [...states.values()].filter(isRunning)
  const starting = startingServersOf(states)
  if (previous?.naming === naming && isShallowEqual(previous.running, running)) return { ...previous, states, starting }
  const shown = running.filter(
    ({ session: { info } }) => info.capabilities.subscribe || (showUnsubscribable && info.capabilities.resources)
  )
  const { catalogue, toolListFingerprint } = catalogueOf(running, naming, previous)
  return {
    states,
    naming,
    starting,
    running,
    shown,
    catalogue,
    hostConflicts: hostConflictsOf(running, previous),
    fingerprints: new Map([
      ["toolList", toolListFingerprint],
      ["desktop", setFingerprint(shown, isWindowUri)],
      ["finder", setFingerprint(shown, isDocumentUri)]
    ])
  }
}
