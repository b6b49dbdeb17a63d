import { isWindowUri } from "../../domain/desktop/window.ts"
import { documentUri } from "../../domain/documents/finder.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { ServerConfig } from "../../domain/protocol/v0_2/config.ts"
import { buildCatalogue, type Catalogue } from "../../domain/tools/catalogue.ts"
import type { McpSession } from "../ports/McpSession.ts"

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
  | { readonly _tag: "Disabled" }
  | { readonly _tag: "Starting" }
  | ({ readonly _tag: "Ready" } & ReadyServer)
  | { readonly _tag: "Failed"; readonly reason: string }

/** Everything the office can see of the servers together. */
export interface Offer {
  readonly states: ReadonlyMap<string, ServerState>
  readonly ready: ReadonlyArray<ReadyServer>
  readonly catalogue: Catalogue
  /** What each part looks like, for comparing; equal text means nothing has changed. */
  readonly parts: { readonly [P in "toolList" | "desktop" | "finder"]: string }
}

const uriOf = (resource: JsonObject): string => (typeof resource["uri"] === "string" ? resource["uri"] : "")

/** Only servers that tell about changes take part in desktop and catalogue of documents (seed 001). */
export const takesPart = ({ session }: ReadyServer): boolean => session.info.capabilities.subscribe

const uris = (server: ReadyServer, belongs: (uri: string) => boolean): ReadonlyArray<string> =>
  takesPart(server) ? server.resources.map(uriOf).filter(belongs) : []

/** Is this the URI of a document? */
export const isDocument = (uri: string): boolean => documentUri(uri) !== undefined

/** The resources of a server whose contents concern the office. */
export const watched = (server: ReadyServer): ReadonlySet<string> =>
  new Set(uris(server, (uri) => isWindowUri(uri) || isDocument(uri)))

const asSet = (texts: ReadonlyArray<string>): string => JSON.stringify([...new Set(texts)].sort())

/** What servers in these states offer together, in configuration order. */
export const offerOf = (states: ReadonlyMap<string, ServerState>): Offer => {
  const ready = [...states.values()].filter((state) => state._tag === "Ready")
  const catalogue = buildCatalogue(ready)
  return {
    states,
    ready,
    catalogue,
    parts: {
      toolList: JSON.stringify([...catalogue.entries.values()].map(({ tool }) => tool)),
      desktop: asSet(ready.flatMap((server) => uris(server, isWindowUri))),
      finder: asSet(ready.flatMap((server) => uris(server, isDocument)))
    }
  }
}

/** The parts of an offer whose changes are announced. */
export const announced = ["toolList", "desktop", "finder"] as const
