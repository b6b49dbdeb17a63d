import { Effect } from "effect"
import { Unreachable } from "../../../application/ports/Transport.ts"
import { officeQueryParameter } from "../../../domain/office/officeKey.ts"
import { versionQueryParameter } from "../../../domain/wire/version.ts"
import { defaultPaths } from "../limits.ts"

/** The parts of a Server's URL, which Socket.IO takes separately. */
export interface ServerAddress {
  readonly origin: string
  /** The paths to try in this order. A URL without a path has the defaults. */
  readonly paths: ReadonlyArray<string>
  /** Parameters of the URL's query, for a proxy. */
  readonly query: { readonly [name: string]: string }
}

/** Parameters of Engine.IO and of the protocol. */
const reservedParameters: ReadonlySet<string> = new Set([
  "EIO",
  "transport",
  "sid",
  "t",
  "b64",
  officeQueryParameter,
  versionQueryParameter
])

/** The URL for messages, which are logged: without user, password and query, which may hold a secret. */
export const displayUrl = (url: string): string => url.replace(/\/\/[^/?#]*@/, "//").replace(/[?#].*$/s, "")

const queryProblem = (parameters: URLSearchParams): string | undefined => {
  const names = [...parameters.keys()]
  const reserved = names.find((name) => reservedParameters.has(name))
  if (reserved !== undefined) return `the query must not have the parameter ${reserved}`
  return new Set(names).size < names.length ? "a parameter of the query is repeated" : undefined
}

export const isServerUrl = (text: string): boolean =>
  ["http:", "https:", "ws:", "wss:"].includes(URL.parse(text)?.protocol ?? "")

export const parseServerUrl = (text: string): Effect.Effect<ServerAddress, Unreachable> => {
  const fail = (reason: string) =>
    Effect.fail(new Unreachable({ message: `Cannot reach ${displayUrl(text)}: ${reason}`, permanent: true }))
  if (!isServerUrl(text)) return fail("not an http or https URL")
  const url = new URL(text)
  const { host, pathname, protocol, searchParams } = url
  const problem = queryProblem(searchParams)
  if (problem !== undefined) return fail(problem)
  const paths = pathname === "/" ? defaultPaths : [pathname.replace(/\/$/, "")]
  return Effect.succeed({ origin: `${protocol}//${host}`, paths, query: Object.fromEntries(searchParams) })
}
