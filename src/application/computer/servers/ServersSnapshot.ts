import { type Duration, Effect, type Scope } from "effect"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import { isWindowUri } from "../../../domain/desktop/WindowUri.ts"
import { parseDocumentUri } from "../../../domain/documents/findDocuments.ts"
import { findHostConflicts } from "../../../domain/documents/DpeUri.ts"
import { computeOnce, definedOnly, isShallowEqual } from "../../../domain/objects.ts"
import { type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import type { FailingServer } from "../../../domain/model/CallStatus.ts"
import type { InspectedServer } from "../../../domain/page/Inspection.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import {
  fullReason,
  type LastOffer,
  type McpOffer,
  type McpServer,
  type SessionFailure
} from "../../../domain/mcpServers/McpServer.ts"
import type { Tool } from "../../../domain/model/Tool.ts"
import { isAppResource } from "../../../domain/tools/appTools.ts"
import { plainResourcesHash } from "../../../domain/tools/listings/plainResources.ts"
import { buildCatalogue, type Catalogue, listTools, type ServerTools } from "../../../domain/tools/catalogue.ts"
import { type Naming, plainNaming } from "../../../domain/tools/naming.ts"
import type { McpInfo, McpSession, McpSessionError } from "../../ports/McpSession.ts"

/** What only lazy servers have. */
export interface LazyControl {
  /** Starts the server unless it runs, and keeps it running as long as the scope. */
  readonly open: Effect.Effect<McpSession, McpSessionError, Scope.Scope>
  /** The session while the server runs. Requests on it do not keep it running. */
  readonly live: McpSession | undefined
  /** Makes the session that starts the server on request; it lists the catalogue while the server does not run. */
  readonly sessionOf: (info: McpInfo) => McpSession
  /** Stops the running server once no request has used it for a time, and completes then. */
  readonly untilIdle: (idleTime: () => Duration.Duration) => Effect.Effect<void>
}

/** A server with an offer: one that runs, or a lazy one. */
export interface OfferedServer extends McpOffer {
  /** A request on the session of a lazy server starts it. */
  readonly session: McpSession
  readonly lazyControl?: LazyControl
}

/** The session for reads that no one waits for, which neither start a lazy server nor keep it running. */
export const backgroundSessionOf = ({ lazyControl, session }: OfferedServer): McpSession | undefined =>
  lazyControl === undefined ? session : lazyControl.live

/** True for a lazy server that does not run: its listings are the last ones. */
export const isIdle = (server: OfferedServer): boolean => backgroundSessionOf(server) === undefined

/** Opens the session of a server for requests of the scope, and starts a lazy one. */
export const openSession = ({
  lazyControl,
  session
}: OfferedServer): Effect.Effect<McpSession, McpSessionError, Scope.Scope> =>
  lazyControl?.open ?? Effect.succeed(session)

/** The reason for the owner may quote stderr; the public one has no output of the server. */
const failureOf = (failure: SessionFailure) => ({ publicReason: failure.message, reason: fullReason(failure) })
type ServerFailure = Readonly<ReturnType<typeof failureOf>>

export type ServerState =
  /** Disabled in the configuration, or stopped by the user. */
  | { readonly _tag: "Stopped"; readonly reason: "disabled" | "stopped_by_user" }
  /** `attempt` counts from 1 and restarts after a stable session; `failure` tells why the attempt before ended. */
  | { readonly _tag: "Starting"; readonly attempt: number; readonly failure?: ServerFailure; readonly last?: LastOffer }
  | ({ readonly _tag: "Ready" } & OfferedServer)
  /** The server is running with reduced function. */
  | ({ readonly _tag: "Degraded"; readonly reason: string } & OfferedServer)
  /** A lazy server that a request starts; `failure` tells why the last run ended, if it failed. */
  | ({ readonly _tag: "Idle"; readonly failure?: ServerFailure } & OfferedServer)
  /** The server exited or failed to start; it restarts at `retryAt`, in milliseconds since 1970. */
  | ({
      readonly _tag: "BackingOff"
      readonly attempt: number
      readonly retryAt: number
      readonly last?: LastOffer
    } & ServerFailure)
  /** The failure is permanent: the server needs another configuration. */
  | ({ readonly _tag: "Failed" } & ServerFailure)

/** States by server name, in configuration order. */
export type ServerStates = ReadonlyMap<string, ServerState>

/** True while the office sees the offer of a server, also that of an idle one. */
export const isOffered = (state: ServerState | undefined): state is Extract<ServerState, OfferedServer> =>
  state?._tag === "Ready" || state?._tag === "Degraded" || state?._tag === "Idle"

/** Shows the life of a server to its owner, operators and programs. */
export const toServerState = ({ run: _, ...server }: McpServer<OfferedServer>): ServerState => {
  switch (server._tag) {
    case "Stopped":
      return server
    case "Starting": {
      const { failure, ...state } = server
      return { ...state, ...definedOnly({ failure: failure && failureOf(failure) }) }
    }
    case "Running":
      return server.problems.size === 0
        ? { _tag: "Ready", ...server.offer }
        : { _tag: "Degraded", reason: [...server.problems.values()].join("; "), ...server.offer }
    case "Idle":
    case "Waking": {
      const { lazyControl, ...offer } = server.offer
      const failure = server.failure && failureOf(server.failure)
      const control = lazyControl && { ...lazyControl, live: undefined }
      return { _tag: "Idle", ...offer, ...definedOnly({ failure, lazyControl: control }) }
    }
    case "BackingOff":
    case "Failed": {
      const { failure, ...state } = server
      return { ...state, ...failureOf(failure) }
    }
  }
}

/** A server that ran and starts again. The office does not see what it offered. */
export interface RestartingServer extends LastOffer {
  /** When it starts, in milliseconds since 1970; missing while it does. */
  readonly retryAt?: number
}

const restartingServers = (states: ServerStates): ReadonlyArray<RestartingServer> =>
  [...states.values()].flatMap((state) => {
    if (!("last" in state) || state.last === undefined) return []
    return [state._tag === "BackingOff" ? { ...state.last, retryAt: state.retryAt } : state.last]
  })

/** The name of a state for people, the same everywhere. */
export const stateNameOf = (state: ServerState): InspectedServer["state"] => {
  const { _tag } = state
  if (_tag !== "Starting" && _tag !== "BackingOff") return _tag.toLowerCase() as Lowercase<typeof _tag>
  if (state.last !== undefined) return "restarting"
  return isFirstAttempt(state) ? "starting" : "failing"
}

/** The servers that do not start, of which the office has seen nothing. */
const failingServers = (states: ServerStates): ReadonlyArray<FailingServer> =>
  [...states].flatMap(([name, state]) => {
    if (!["failing", "failed"].includes(stateNameOf(state))) return []
    const { publicReason: reason } = "failure" in state ? (state.failure ?? {}) : "publicReason" in state ? state : {}
    return reason === undefined ? [] : [{ name, reason }]
  })

/** True in the first start attempt of a server: nothing is known of its tools. */
export const isFirstAttempt = (state: ServerState | undefined): boolean =>
  state?._tag === "Starting" && state.attempt === 1

/** Texts that identify the current content of parts of a Computer, made on demand: equal texts mean no change. */
export type Fingerprints = ReadonlyMap<ComputerPart, () => string>

type Servers = ReadonlyArray<OfferedServer>

/**
 * The states of all servers, and what they offer together, in configuration order. Catalogue, conflicts and fingerprints
 * are made on demand.
 */
export type ServersSnapshot = ReturnType<ReturnType<typeof makeSnapshotBuilder>>

/** The URI of a listed resource, else the empty string. */
export const uriOf = ({ uri }: JsonObject): string => stringOrEmpty(uri)

export const isDocumentUri = (uri: string): boolean => parseDocumentUri(uri) !== undefined

/** The windows and documents of a server that supports subscriptions. */
export const watchedUris = ({ resources, session }: OfferedServer): ReadonlySet<string> =>
  new Set(
    session.info.capabilities.subscribe
      ? resources.map(uriOf).filter((uri) => isWindowUri(uri) || isDocumentUri(uri))
      : []
  )

/** Lists the tools of a server once: a Computer with many servers makes its catalogue again as each of them starts. */
const listToolsOnce = computeOnce((naming: Naming) =>
  computeOnce((config: ServerConfig) =>
    computeOnce((tools: ServerTools["tools"]) => listTools({ config, tools }, naming))
  )
)

const toolText = computeOnce((tool: Tool) => JSON.stringify(tool))

const toolListText = ({ entries }: Catalogue): string => [...entries.values()].map(({ tool }) => toolText(tool)).join()

/** Makes a function that returns its latest result again while its inputs are the same, compared by identity. */
const cacheLatest = <Args extends ReadonlyArray<unknown>, A>(
  inputsOf: (...args: Args) => ReadonlyArray<unknown>,
  compute: (...args: Args) => A
) => {
  let cached: { readonly args: Args; readonly inputs: ReadonlyArray<unknown>; readonly result: A } | undefined
  return (...args: Args): A => {
    if (cached !== undefined && isShallowEqual(cached.args, args)) return cached.result
    const inputs = inputsOf(...args)
    const result = cached !== undefined && isShallowEqual(cached.inputs, inputs) ? cached.result : compute(...args)
    cached = { args, inputs, result }
    return result
  }
}

/** The distinct URIs that match, as a text. Lists the URIs of each resource listing once. */
const makeUrisText = (matches: (uri: string) => boolean) => {
  const matchingUris = computeOnce((resources: OfferedServer["resources"]) => resources.map(uriOf).filter(matches))
  return cacheLatest(
    (servers: Servers) => servers.map(({ resources }) => matchingUris(resources)).filter((uris) => uris.length > 0),
    (servers) => JSON.stringify([...new Set(servers.flatMap(({ resources }) => matchingUris(resources)))].sort())
  )
}

/** What a server offers beside tools, windows and documents, with its name; empty for one that offers nothing else. */
const describeExtras = ({ config: { name }, prompts, resources, session: { info }, templates }: OfferedServer) => {
  const apps = resources.filter(isAppResource)
  const extras = [info.instructions, prompts, templates, apps, plainResourcesHash(resources)]
  return extras.some((extra) => extra !== undefined && extra.length > 0) ? [[name, ...extras]] : []
}

/**
 * Makes a function that builds the snapshot of servers in these states. Snapshots share their unchanged parts with the
 * previous one. Windows and documents of servers without subscriptions are hidden (seed 001) unless `showUnsubscribable`
 * is set.
 */
export const makeSnapshotBuilder = (showUnsubscribable: boolean) => {
  const listRunning = (states: ServerStates): Servers => [...states.values()].filter(isOffered)
  const runningOf = cacheLatest(listRunning, listRunning)
  const isShown = ({ session: { info } }: OfferedServer) =>
    info.capabilities.subscribe || (showUnsubscribable && info.capabilities.resources)
  const shownOf = cacheLatest(
    (running: Servers) => running,
    (running) => running.filter(isShown)
  )
  const catalogueOf = cacheLatest(
    (running: Servers, naming: Naming) => [naming, ...running.flatMap(({ config, tools }) => [config, tools])],
    (running, naming) => buildCatalogue(running, naming, ({ config, tools }) => listToolsOnce(naming)(config)(tools))
  )
  const toolListTextOf = cacheLatest((catalogue: Catalogue) => [catalogue], toolListText)
  const hostConflictsOf = cacheLatest(
    (running: Servers) => running.flatMap(({ config, resources }) => [config.name, resources]),
    (running) =>
      findHostConflicts(running.map(({ config: { name }, resources }) => ({ name, uris: resources.map(uriOf) })))
  )
  const serversTextOf = cacheLatest(
    (running: Servers) =>
      running.flatMap(({ prompts, resources, session, templates }) => [prompts, resources, templates, session]),
    (running) => JSON.stringify(running.flatMap(describeExtras))
  )
  const windowsTextOf = makeUrisText(isWindowUri)
  const documentsTextOf = makeUrisText(isDocumentUri)

  return (states: ServerStates, naming: Naming = plainNaming) => {
    const running = runningOf(states)
    const shown = shownOf(running)
    const fingerprints: Fingerprints = new Map([
      // Agents fetch the prompts and instructions of servers when the tools change: no event of the protocol fits.
      ["toolList", () => `${toolListTextOf(catalogueOf(running, naming))}\n${serversTextOf(running)}`],
      ["desktop", () => windowsTextOf(shown.filter((server) => !isIdle(server)))],
      ["finder", () => documentsTextOf(shown)]
    ])
    return {
      states,
      /** How the office names servers and tools. */
      naming,
      /** The names of the servers in their first start attempt. */
      starting: [...states.keys()].filter((name) => isFirstAttempt(states.get(name))),
      running,
      /** The running servers whose windows and documents are shown; of an idle one only the documents. */
      shown,
      get catalogue(): Catalogue {
        return catalogueOf(running, naming)
      },
      get restarting(): ReadonlyArray<RestartingServer> {
        return restartingServers(states)
      },
      get failing(): ReadonlyArray<FailingServer> {
        return failingServers(states)
      },
      get hostConflicts() {
        return hostConflictsOf(running)
      },
      fingerprints
    }
  }
}
