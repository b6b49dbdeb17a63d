import { Result } from "effect"

/** The parts of a hierarchical URI, query and fragment still encoded and without their marks. */
export interface UriParts {
  readonly scheme: string
  readonly host: string
  /** Path segments, percent-decoded one by one; the slash after the host is not part of them. */
  readonly path: ReadonlyArray<string>
  readonly query: string | undefined
  readonly fragment: string | undefined
}

const uriPattern = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?(?:#(.*))?$/s

const decodeSegment = (segment: string): Result.Result<string, string> =>
  Result.try({ try: () => decodeURIComponent(segment), catch: () => `malformed escape in "${segment}"` })

/**
 * Splits `scheme://host/path?query#fragment`, or says what is wrong. Unlike `URL` it keeps `.` and `..` segments and
 * escaped slashes, which name things here (spec §9.2, §10.1).
 */
export const parseUri = (text: string): Result.Result<UriParts, string> => {
  // UTF-8 cannot say it, so that nobody could be asked for it.
  if (!text.isWellFormed()) return Result.fail("unpaired surrogate")
  const match = uriPattern.exec(text)
  if (match === null) return Result.fail("not a URI of the form scheme://host/path")
  const [, scheme = "", host = "", path, query, fragment] = match
  if (host === "") return Result.fail("missing host")
  if (/[\s\p{Cc}]/u.test(host)) return Result.fail("white space in the host")
  const segments = path === undefined ? [] : path.slice(1).split("/")
  return Result.map(Result.all(segments.map(decodeSegment)), (decoded) => ({
    scheme: scheme.toLowerCase(),
    host,
    path: decoded,
    query,
    fragment
  }))
}

/**
 * A path as it stands in a URI: every segment fully escaped, so that `a/b` is one segment `a%2Fb`. Half of a surrogate
 * pair, which no URI can hold, becomes U+FFFD.
 */
export const formatUriPath = (segments: ReadonlyArray<string>): string =>
  segments.map((segment) => `/${encodeURIComponent(segment.toWellFormed())}`).join("")

/** The value of a query parameter, unescaped; the first one where it repeats. */
export const queryParameter = (query: string, name: string): Result.Result<string | undefined, string> => {
  for (const pair of query.split("&")) {
    const [key = "", ...value] = pair.split("=")
    if (key === name) return decodeSegment(value.join("=").replaceAll("+", " "))
  }
  return Result.succeed(undefined)
}
