import { Data, Result } from "effect"
import { formatUriPath, parseUri } from "../uri.ts"

/** What a `dpe://` URI names: one document of the MCP server that owns the host (spec §10.1). */
export interface DpeUri {
  readonly host: string
  /** The segments of the document reference, decoded. */
  readonly path: ReadonlyArray<string>
  /** The decoded document reference: what its MCP server calls the document. */
  readonly docRef: string
  /** The URI without query and fragment, otherwise as given: what the MCP server is asked for. */
  readonly uri: string
  /** True when there was a query or fragment: it means nothing and is dropped. */
  readonly isTrimmed: boolean
}

/** A text that names no document, and why (4012). */
export class InvalidDpeUri extends Data.TaggedError("InvalidDpeUri")<{
  readonly uri: string
  readonly reason: string
}> {
  override get message(): string {
    return `Invalid DPE URI ${JSON.stringify(this.uri)}: ${this.reason}`
  }
}

/** Reads a document URI as a Computer does: a query or fragment is dropped, not refused (spec §10.1, cases 279–283). */
export const parseDpeUri = (uri: string): Result.Result<DpeUri, InvalidDpeUri> =>
  Result.gen(function* () {
    const { fragment, host, path, query, scheme } = yield* parseUri(uri)
    if (scheme !== "dpe") return yield* Result.fail("the scheme must be dpe")
    if (path.every((segment) => segment === "")) return yield* Result.fail("missing doc-ref")
    return {
      host,
      path,
      docRef: path.join("/"),
      uri: uri.replace(/[?#].*$/s, ""),
      isTrimmed: query !== undefined || fragment !== undefined
    }
  }).pipe(Result.mapError((reason) => new InvalidDpeUri({ uri, reason })))

/** Writes a document URI from its host and the segments of its reference. */
export const buildDpeUri = (
  host: string,
  path: ReadonlyArray<string>
): Result.Result<string, InvalidDpeUri> => {
  const uri = `dpe://${host}${formatUriPath(path)}`
  if (!path.every((segment) => segment.isWellFormed())) {
    return Result.fail(new InvalidDpeUri({ uri, reason: "unpaired surrogate" }))
  }
  return Result.flatMap(parseDpeUri(uri), (parsed) =>
    parsed.isTrimmed
      ? Result.fail(new InvalidDpeUri({ uri, reason: "the host holds a query or fragment" }))
      : Result.succeed(uri)
  )
}

/** Checks a document URI as an Agent does before it asks: a query or fragment is a mistake (spec §10.1, case 284). */
export const parseStrictDpeUri = (uri: string): Result.Result<DpeUri, InvalidDpeUri> =>
  Result.flatMap(parseDpeUri(uri), (parsed) =>
    parsed.isTrimmed
      ? Result.fail(new InvalidDpeUri({ uri, reason: "query and fragment are not allowed" }))
      : Result.succeed(parsed)
  )

/** Hosts of `dpe://` URIs are compared without regard to case. */
export const normalizeHost = (host: string): string => host.toLowerCase()
