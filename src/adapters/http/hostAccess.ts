import type { IncomingHttpHeaders } from "node:http"
import { addressKind } from "./addressKind.ts"

/** True for loopback addresses, with or without brackets, and `localhost`. Other names may resolve to any address. */
export const isLoopbackHost = (host: string): boolean =>
  host.toLowerCase() === "localhost" || addressKind(host) === "loopback"

/** The pages that may use a server. */
export interface PageAccess {
  /** Origins of foreign pages, such as `https://app.example.org`; `*` for all. */
  readonly allowedOrigins: ReadonlyArray<string>
  /** Names of the server in lower case, beside `localhost` and IP addresses. */
  readonly allowedHosts?: ReadonlyArray<string>
  /** The schemes of the server's own pages. */
  readonly schemes?: ReadonlyArray<"http" | "https">
}

/**
 * True when the `Host` header has an IP address, `localhost` or an allowed name: DNS rebinding needs a name that the
 * attacker controls.
 */
export const isOwnHost = ({ host }: IncomingHttpHeaders, allowedHosts: ReadonlyArray<string> = []): boolean => {
  const hostname = URL.parse(`http://${host ?? ""}`)?.hostname.toLowerCase()
  if (hostname === undefined) return false
  return hostname === "localhost" || addressKind(hostname) !== undefined || allowedHosts.includes(hostname)
}

/** The origin of a foreign page; `undefined` for own pages and for clients without a page. */
export const crossOriginOf = (
  { host, origin }: IncomingHttpHeaders,
  schemes: PageAccess["schemes"] = ["http"]
): string | undefined => (schemes.some((scheme) => origin === `${scheme}://${host}`) ? undefined : origin)

/** The origin of a page of the list. */
export const listedOriginOf = ({ origin }: IncomingHttpHeaders, { allowedOrigins }: PageAccess): string | undefined =>
  origin !== undefined && (allowedOrigins.includes(origin) || allowedOrigins.includes("*")) ? origin : undefined

/** True for clients without a page, pages of the list, and own pages. */
export const isOriginAllowed = (headers: IncomingHttpHeaders, access: PageAccess): boolean => {
  if (headers.origin === undefined || listedOriginOf(headers, access) !== undefined) return true
  return crossOriginOf(headers, access.schemes) === undefined && isOwnHost(headers, access.allowedHosts)
}
