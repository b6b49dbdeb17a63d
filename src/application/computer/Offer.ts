import { isWindowUri } from "../../domain/desktop/window.ts"
import { documentUri } from "../../domain/documents/finder.ts"
import { type HostClash, hostClashes } from "../../domain/documents/hosts.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { ServerConfig } from "../../domain/protocol/v0_2/config.ts"
import { buildCatalogue, type Catalogue } from "../../domain/tools/catalogue.ts"
import type { McpSession } from "../ports/McpSession.ts"
import type { Looks } from "./Announcer.ts"

/** What a running MCP server offers right now. */
export interface ReadyServer {
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
  | ({ readonly _tag: "Ready" } & ReadyServer)
  /** It runs and is offered, but not all is well. */
  | ({ readonly _tag: "Degraded"; readonly reason: string } & ReadyServer)
  /** It has ended or could not be started, and is started again at `until`, in milliseconds since 1970. */
  | {
      readonly _tag: "BackingOff"
      readonly reason: string
      readonly attempt: number
      readonly until: number
    }
  /** It cannot run as it is configured; trying again would not help. */
  | { readonly _tag: "Failed"; readonly reason: string }

/** States by server, in configuration order. */
export type ServerStates = ReadonlyMap<string, ServerState>

/** The states of a server that runs. */
export type RunningState = Extract<ServerState, ReadyServer>

/** Does it run? */
export const isRunning = (state: ServerState | undefined): state is RunningState =>
  state?._tag === "Ready" || state?._tag === "Degraded"

/** Everything the office can see of the servers together. */
export interface Offer {
  readonly states: ServerStates
  /** Those that run. */
  readonly ready: ReadonlyArray<ReadyServer>
  /** Those of them whose windows and documents are shown. */
  readonly shown: ReadonlyArray<ReadyServer>
  readonly catalogue: Catalogue
  readonly clashes: ReadonlyArray<HostClash>
  /** What each part looks like, for comparing. */
  readonly looks: Looks
}

const uriOf = (resource: JsonObject): string => (typeof resource["uri"] === "string" ? resource["uri"] : "")

const uris = ({ resources }: ReadyServer, belongs: (uri: string) => boolean): ReadonlyArray<string> =>
  resources.map(uriOf).filter(belongs)

/** Is this the URI of a document? */
export const isDocument = (uri: string): boolean => documentUri(uri) !== undefined

/** The resources of a server whose contents concern the office, where it tells when they change. */
export const watched = (server: ReadyServer): ReadonlySet<string> =>
  new Set(
    server.session.info.capabilities.subscribe
      ? uris(server, (uri) => isWindowUri(uri) || isDocument(uri))
      : []
  )

const asSet = (texts: ReadonlyArray<string>): string => JSON.stringify([...new Set(texts)].sort())

const isSame = (one: ReadonlyArray<unknown>, other: ReadonlyArray<unknown>): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index])

/** Everything the catalogue is made of. */
const ingredients = ({ ready }: Pick<Offer, "ready">) => ready.flatMap(({ config, tools }) => [config, tools])

const catalogueOf = (ready: Offer["ready"], previous: Offer | undefined) => {
  if (previous !== undefined && isSame(ingredients(previous), ingredients({ ready }))) {
    return { catalogue: previous.catalogue, look: previous.looks.get("toolList") ?? "" }
  }
  const catalogue = buildCatalogue(ready)
  return { catalogue, look: JSON.stringify([...catalogue.entries.values()].map(({ tool }) => tool)) }
}

const clashesOf = (ready: Offer["ready"], previous: Offer | undefined) => {
  const listings = (servers: Offer["ready"]) =>
    servers.flatMap(({ config, resources }) => [config.name, resources])
  return previous !== undefined && isSame(listings(previous.ready), listings(ready))
    ? previous.clashes
    : hostClashes(ready.map((server) => ({ name: server.config.name, uris: uris(server, () => true) })))
}

/**
 * What servers in these states offer together, in configuration order. Only those that tell about changes show their
 * windows and documents (seed 001), unless `isLenient`. The `previous` offer is used where it still holds.
 */
export const offerOf = (states: ServerStates, isLenient: boolean, previous?: Offer): Offer => {
  const ready = [...states.values()].filter(isRunning)
  if (previous !== undefined && isSame(previous.ready, ready)) return { ...previous, states }
  const shown = ready.filter(
    ({ session: { info } }) => info.capabilities.subscribe || (isLenient && info.capabilities.resources)
  )
  const { catalogue, look } = catalogueOf(ready, previous)
  return {
    states,
    ready,
    shown,
    catalogue,
    clashes: clashesOf(ready, previous),
    looks: new Map([
      ["toolList", look],
      ["desktop", asSet(shown.flatMap((server) => uris(server, isWindowUri)))],
      ["finder", asSet(shown.flatMap((server) => uris(server, isDocument)))]
    ])
  }
}
