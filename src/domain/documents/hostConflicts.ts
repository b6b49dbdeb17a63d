import { Result } from "effect"
import { parseWindowUri } from "../desktop/WindowUri.ts"
import { normalizeHost, parseDpeUri } from "./DpeUri.ts"

/** A host for which several MCP servers list documents or windows. Requests go to the first server (spec §10.3). */
export interface HostConflict {
  readonly host: string
  /** In configuration order. */
  readonly servers: ReadonlyArray<string>
}

const hostOf = (uri: string): string | undefined => {
  const parsed = Result.getOrUndefined(parseDpeUri(uri)) ?? Result.getOrUndefined(parseWindowUri(uri))
  return parsed === undefined ? undefined : normalizeHost(parsed.host)
}

/** Finds the hosts that several servers use in the URIs that they list. */
export const findHostConflicts = (
  servers: ReadonlyArray<{ readonly name: string; readonly uris: ReadonlyArray<string> }>
): ReadonlyArray<HostConflict> => {
  const claims = servers.flatMap(({ name, uris }) =>
    [...new Set(uris.map(hostOf))].flatMap((host) => (host === undefined ? [] : [{ host, name }]))
  )
  return [...Map.groupBy(claims, ({ host }) => host)].flatMap(([host, owners]) =>
    owners.length > 1 ? [{ host, servers: owners.map(({ name }) => name) }] : []
  )
}
