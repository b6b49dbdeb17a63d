import { Data, Result } from "effect"
import { checkUriParts, formatUri, parseUri } from "../uri.ts"
import { parseWindowUri } from "../desktop/WindowUri.ts"

/** A `dpe://` URI: one document of the MCP server that owns the host (spec §10.1). */
export interface DpeUri {
  readonly host: string
  /** The decoded segments of the document reference. */
  readonly path: ReadonlyArray<string>
  /** The decoded document reference of the MCP server. */
  readonly docRef: string
  /** The given URI without query and fragment, for requests to the MCP server. */
  readonly uri: string
  /** True when a query or fragment was removed. */
  readonly isTrimmed: boolean
}

/** An invalid document URI with the reason (4012). */
export class InvalidDpeUri extends Data.TaggedError("InvalidDpeUri")<{
  readonly uri: string
  readonly reason: string
}> {
  override get message(): string {
    return `Invalid DPE URI ${JSON.stringify(this.uri)}: ${this.reason}`
  }
}

/** Parses a document URI for a Computer: removes a query or fragment (spec §10.1, cases 279–283). */
export const parseDpeUri = (uri: string): Result.Result<DpeUri, InvalidDpeUri> =>
  Result.gen(function* () {
    const { fragment, host, path, query, scheme } = yield* parseUri(uri)
    if (scheme !== "dpe") return yield* Result.fail("the scheme must be dpe")
    if (path.every((segment) => segment === "")) return yield* Result.fail("missing doc-ref")
    return {
      host,
      path,
      docRef: path.join("/"),
      uri: uri.replace(/[?#].*/s, ""),
      isTrimmed: query !== undefined || fragment !== undefined
    }
  }).pipe(Result.mapError((reason) => new InvalidDpeUri({ uri, reason })))

/** Parses a document URI for an Agent: rejects a query or fragment (spec §10.1, case 284). */
export const parseStrictDpeUri = (uri: string): Result.Result<DpeUri, InvalidDpeUri> =>
  Result.filterOrFail(
    parseDpeUri(uri),
    ({ isTrimmed }) => !isTrimmed,
    () => new InvalidDpeUri({ uri, reason: "query and fragment are not allowed" })
  )

/** Formats a document URI from its host and the segments of its reference. The inverse of {@link parseStrictDpeUri}. */
export const buildDpeUri = (host: string, path: ReadonlyArray<string>): Result.Result<string, InvalidDpeUri> => {
  const uri = formatUri("dpe", host, path)
  return checkUriParts(host, path).pipe(
    Result.mapError((reason) => new InvalidDpeUri({ uri, reason })),
    Result.andThen(parseStrictDpeUri(uri)),
    Result.map(() => uri)
  )
}

/** Normalizes a host of a `dpe://` URI: hosts are case-insensitive. */
export const normalizeHost = (host: string): string => host.toLowerCase()

const hostOf = (uri: string): string | undefined => {
  const parsed = Result.getOrUndefined(parseDpeUri(uri)) ?? Result.getOrUndefined(parseWindowUri(uri))
  return parsed === undefined ? undefined : normalizeHost(parsed.host)
}

/**
 * Finds the hosts that several servers use in the URIs of the documents and windows that they list. Requests go to the first
 * server in configuration order (spec §10.3).
 */
export const findHostConflicts = (
  servers: ReadonlyArray<{ readonly name: string; readonly uris: ReadonlyArray<string> }>
) => {
  const claims = servers.flatMap(({ name, uris }) =>
    [...new Set(uris.map(hostOf))].flatMap((host) => (host === undefined ? [] : [{ host, name }]))
  )
  return [...Map.groupBy(claims, ({ host }) => host)].flatMap(([host, owners]) =>
    owners.length > 1 ? [{ host, servers: owners.map(({ name }) => name) }] : []
  )
}
