import { Result } from "effect"

/** The parts of a hierarchical URI. Query and fragment are encoded, without `?` and `#`. */
export interface UriParts {
  readonly scheme: string
  readonly host: string
  /** The decoded path segments, without the slash after the host. */
  readonly path: ReadonlyArray<string>
  readonly query: string | undefined
  readonly fragment: string | undefined
}

const uriPattern = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?(?:#(.*))?$/s

const decodeSegment = (segment: string): Result.Result<string, string> =>
  Result.try({ try: () => decodeURIComponent(segment), catch: () => `malformed escape in "${segment}"` })

/** Unlike `URL` it keeps `.` and `..` segments and escaped slashes, which are significant here (spec §9.2, §10.1). */
export const parseUri = (text: string): Result.Result<UriParts, string> => {
  // UTF-8 cannot encode it: no request could carry it.
  if (!text.isWellFormed()) return Result.fail("unpaired surrogate")
  // A line break in a URI would end it early in the text of a desktop.
  if (/\p{Cc}/u.test(text)) return Result.fail("control character")
  const match = uriPattern.exec(text)
  if (match === null) return Result.fail("not a URI of the form scheme://host/path")
  const [, scheme = "", host = "", path, query, fragment] = match
  if (host === "") return Result.fail("missing host")
  if (/\s/u.test(host)) return Result.fail("white space in the host")
  const segments = path === undefined ? [] : path.slice(1).split("/")
  return Result.map(Result.all(segments.map(decodeSegment)), (decoded) => ({
    scheme: scheme.toLowerCase(),
    host,
    path: decoded,
    query,
    fragment
  }))
}

const withLowerScheme = (uri: string): string => uri.replace(/^[a-z][a-z0-9+.-]*:/i, (scheme) => scheme.toLowerCase())

/** True for URIs that differ at most in the case of their scheme, which has no meaning. */
export const isSameUri = (one: string, other: string): boolean =>
  one === other || withLowerScheme(one) === withLowerScheme(other)

/** A URI of unchecked parts. Every segment is escaped: `a/b` becomes `a%2Fb`, an unpaired surrogate U+FFFD. */
export const formatUri = (scheme: string, host: string, path: ReadonlyArray<string>): string =>
  `${scheme}://${host}${path.map((segment) => `/${encodeURIComponent(segment.toWellFormed())}`).join("")}`

/** Gives the reason why {@link parseUri} would give other parts for the URI of {@link formatUri}. */
export const checkUriParts = (host: string, path: ReadonlyArray<string>): Result.Result<void, string> => {
  if (/[/?#]/.test(host)) return Result.fail("the host contains a path, query or fragment")
  return path.every((segment) => segment.isWellFormed()) ? Result.void : Result.fail("unpaired surrogate")
}

/** The decoded value of a query parameter; the first one when it repeats. */
export const queryParameter = (query: string, name: string): Result.Result<string | undefined, string> => {
  for (const pair of query.split("&")) {
    const [key = "", ...value] = pair.split("=")
    if (key === name) return decodeSegment(value.join("=").replaceAll("+", " "))
  }
  return Result.succeed(undefined)
}
