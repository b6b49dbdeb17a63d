import type { IncomingHttpHeaders } from "node:http"
import { Redacted } from "effect"
import { isSameSecret } from "../auth/isSameSecret.ts"
import { crossOriginOf, isRebindingSafe, requestedHostname } from "./hostAccess.ts"

/** Who may come in. */
export interface AccessPolicy {
  /** Names under which the server may be addressed, beside `localhost` and plain addresses. */
  readonly allowedHosts: ReadonlyArray<string>
  /** Origins of other pages that may connect, such as `https://app.example.org`. */
  readonly allowedOrigins: ReadonlyArray<string>
  /** What every client must show. */
  readonly token: Redacted.Redacted<string> | undefined
  /** A header that may show the token as well, in lower case; only `Authorization` may unless set. */
  readonly tokenHeader?: "x-api-key"
}

/** Why a request is turned away. */
export interface AccessDenied {
  readonly status: 401 | 403
  readonly message: string
}

/**
 * Turns away requests that a page may have tricked a browser into. A page whose name was made to point here (DNS
 * rebinding) sends its own name as host, which is why names must be known, while plain addresses cannot be faked so;
 * a page of somewhere else sends its origin.
 */
const checkHostAndOrigin = (
  { allowedHosts, allowedOrigins }: AccessPolicy,
  headers: IncomingHttpHeaders
): string | undefined => {
  const hostname = requestedHostname(headers)
  if (hostname === undefined) return "the request has no host"
  if (!isRebindingSafe(hostname) && !allowedHosts.includes(hostname)) {
    return "this server is not known by that host name"
  }
  const origin = crossOriginOf(headers)
  return origin === undefined || allowedOrigins.includes(origin)
    ? undefined
    : "pages of that origin may not connect"
}

/** Everything that a client shows as token. */
const presentedTokens = (
  { tokenHeader }: AccessPolicy,
  headers: IncomingHttpHeaders
): ReadonlyArray<string> => {
  const [, bearer = ""] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "") ?? []
  const other = tokenHeader === undefined ? undefined : headers[tokenHeader]
  return typeof other === "string" ? [bearer, other] : [bearer]
}

/** Says why a request may not come in, or undefined when it may. */
export const checkAccess = (policy: AccessPolicy, headers: IncomingHttpHeaders): AccessDenied | undefined => {
  const tricked = checkHostAndOrigin(policy, headers)
  if (tricked !== undefined) return { status: 403, message: tricked }
  const { token } = policy
  if (token === undefined) return undefined
  // Whoever shows nothing has no token, whatever the operator has set.
  return presentedTokens(policy, headers).some(
    (presented) => presented !== "" && isSameSecret(presented, Redacted.value(token))
  )
    ? undefined
    : { status: 401, message: "a valid bearer token is needed" }
}

/** What a browser needs to hear before a page of another origin may read an answer. */
export const corsHeaders = (
  { allowedOrigins, tokenHeader }: AccessPolicy,
  headers: IncomingHttpHeaders
): Readonly<Record<string, string>> => {
  const origin = crossOriginOf(headers)
  if (origin === undefined || !allowedOrigins.includes(origin)) return {}
  const asked =
    "Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id"
  return {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    "Access-Control-Allow-Headers": tokenHeader === undefined ? asked : `${asked}, ${tokenHeader}`,
    "Access-Control-Expose-Headers": "Mcp-Session-Id",
    Vary: "Origin"
  }
}
