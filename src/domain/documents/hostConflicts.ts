import { Result } from "effect"
import { parseWindowUri } from "../desktop/WindowUri.ts"
import { normalizeHost, parseDpeUri } from "./DpeUri.ts"

/** A host for which several MCP servers list documents or windows. Requests go to the first server (spec §10.3). */
export interface HostConflict {
  readonly host: string
  /** Names of the servers, in configuration order. */
  readonly servers: ReadonlyArray<string>
}

const hostsInUri = (uri: string): ReadonlyArray<string> => {
  const document = Result.map(parseDpeUri(uri), ({ host }) => host)
  const window = Result.map(parseWindowUri(uri), ({ host }) => host)
  return Result.match(
    Result.orElse(document, () => window),
    {
      onFailure: () => [],
      onSuccess: (host) => [normalizeHost(host)]
    }
  )
}

/** Finds the hosts that several servers use in the URIs that they list. */
export const findHostConflicts = (
  servers: ReadonlyArray<{ readonly name: string; readonly uris: ReadonlyArray<string> }>
): ReadonlyArray<HostConflict> => {
  const owners = new Map<string, Array<string>>()
  for (const { name, uris } of servers) {
    for (const host of new Set(uris.flatMap(hostsInUri))) {
      const names = owners.get(host)
      if (names === undefined) owners.set(host, [name])
      else names.push(name)
    }
  }
  return [...owners].flatMap(([host, names]) => (names.length > 1 ? [{ host, servers: names }] : []))
}
