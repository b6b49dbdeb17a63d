import { isWindowUri } from "../../../domain/desktop/WindowUri.ts"
import { parseDocumentUri } from "../../../domain/documents/findDocuments.ts"
import { type HostConflict, findHostConflicts } from "../../../domain/documents/hostConflicts.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import { buildCatalogue, type Catalogue } from "../../../domain/tools/catalogue.ts"
import type { McpSession } from "../../ports/McpSession.ts"
import type { Fingerprints } from "../office/ChangeNotifier.ts"

/** What a running MCP server offers right now. */
export interface RunningMcpServer {
  readonly config: ServerConfig
  readonly session: McpSession
  /** Its tools as listed. */
  readonly tools: ReadonlyArray<JsonObject>
  /** Its resources as listed. */
  readonly resources: ReadonlyArray<JsonObject>
}

/** Where an MCP server stands. */
export type ServerState =
  /** By its configuration, or because its owner said so. */
  | { readonly _tag: "Stopped"; readonly reason: "disabled" | "on request" }
  /** `attempt` counts from 1, anew after every stable time. */
  | { readonly _tag: "Starting"; readonly attempt: number }
  | ({ readonly _tag: "Ready" } & RunningMcpServer)
  /** It runs and is offered, but not all is well. */
  | ({ readonly _tag: "Degraded"; readonly reason: string } & RunningMcpServer)
  /** It has ended or could not be started, and is started again at `until`, in milliseconds since 1970. */
  | {
      readonly _tag: "BackingOff"
      readonly reason: string
      readonly attempt: number
      readonly retryAt: number
    }
  /** It cannot run as it is configured; trying again would not help. */
  | { readonly _tag: "Failed"; readonly reason: string }

/** States by server, in configuration order. */
export type ServerStates = ReadonlyMap<string, ServerState>

/** The states of a server that runs. */
export type RunningState = Extract<ServerState, RunningMcpServer>

/** Does it run? */
export const isRunning = (state: ServerState | undefined): state is RunningState =>
  state?._tag === "Ready" || state?._tag === "Degraded"

/** Everything the office can see of the servers together. */
export interface ServersSnapshot {
  readonly states: ServerStates
  /** Those that run. */
  readonly running: ReadonlyArray<RunningMcpServer>
  /** Those of them whose windows and documents are shown. */
  readonly shown: ReadonlyArray<RunningMcpServer>
  readonly catalogue: Catalogue
  readonly hostConflicts: ReadonlyArray<HostConflict>
  /** What each part looks like, for comparing. */
  readonly fingerprints: Fingerprints
}

const uriOf = (resource: JsonObject): string => (typeof resource["uri"] === "string" ? resource["uri"] : "")

const urisOf = ({ resources }: RunningMcpServer, matches: (uri: string) => boolean): ReadonlyArray<string> =>
  resources.map(uriOf).filter(matches)

/** Is this the URI of a document? */
export const isDocumentUri = (uri: string): boolean => parseDocumentUri(uri) !== undefined

/** The resources of a server whose contents concern the office, where it tells when they change. */
export const watchedUris = (server: RunningMcpServer): ReadonlySet<string> =>
  new Set(
    server.session.info.capabilities.subscribe
      ? urisOf(server, (uri) => isWindowUri(uri) || isDocumentUri(uri))
      : []
  )

const setFingerprint = (texts: ReadonlyArray<string>): string => JSON.stringify([...new Set(texts)].sort())

const isShallowEqual = (one: ReadonlyArray<unknown>, other: ReadonlyArray<unknown>): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index])

/** Everything the catalogue is made of. */
const catalogueInputs = ({ running }: Pick<ServersSnapshot, "running">) =>
  running.flatMap(({ config, tools }) => [config, tools])

const catalogueOf = (running: ServersSnapshot["running"], previous: ServersSnapshot | undefined) => {
  if (previous !== undefined && isShallowEqual(catalogueInputs(previous), catalogueInputs({ running }))) {
    return { catalogue: previous.catalogue, toolListFingerprint: previous.fingerprints.get("toolList") ?? "" }
  }
  const catalogue = buildCatalogue(running)
  const toolListFingerprint = JSON.stringify([...catalogue.entries.values()].map(({ tool }) => tool))
  return { catalogue, toolListFingerprint }
}

const hostConflictsOf = (running: ServersSnapshot["running"], previous: ServersSnapshot | undefined) => {
  const listings = (servers: ServersSnapshot["running"]) =>
    servers.flatMap(({ config, resources }) => [config.name, resources])
  return previous !== undefined && isShallowEqual(listings(previous.running), listings(running))
    ? previous.hostConflicts
    : findHostConflicts(
        running.map((server) => ({ name: server.config.name, uris: urisOf(server, () => true) }))
      )
}

/**
 * What servers in these states offer together, in configuration order. Only those that tell about changes show their
 * windows and documents (seed 001), unless `isLenient`. The `previous` offer is used where it still holds.
 */
export const makeServersSnapshot = (
  states: ServerStates,
  showUnsubscribable: boolean,
  previous?: ServersSnapshot
): ServersSnapshot => {
  const running = [...states.values()].filter(isRunning)
  if (previous !== undefined && isShallowEqual(previous.running, running)) return { ...previous, states }
  const shown = running.filter(
    ({ session: { info } }) =>
      info.capabilities.subscribe || (showUnsubscribable && info.capabilities.resources)
  )
  const { catalogue, toolListFingerprint } = catalogueOf(running, previous)
  return {
    states,
    running,
    shown,
    catalogue,
    hostConflicts: hostConflictsOf(running, previous),
    fingerprints: new Map([
      ["toolList", toolListFingerprint],
      ["desktop", setFingerprint(shown.flatMap((server) => urisOf(server, isWindowUri)))],
      ["finder", setFingerprint(shown.flatMap((server) => urisOf(server, isDocumentUri)))]
    ])
  }
}
