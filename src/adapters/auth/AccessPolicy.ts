import type { IncomingHttpHeaders } from "node:http"
import { Redacted } from "effect"
import { bearerToken, isToken } from "./secrets.ts"
import { isOriginAllowed, isOwnHost, listedOriginOf, type PageAccess } from "../http/hostAccess.ts"

/** The access policy of a local HTTP server. */
export interface AccessPolicy extends PageAccess {
  /** The bearer token that every client must send. `"allowAll"` requires none. */
  readonly token: Redacted.Redacted<string> | "allowAll"
  /** A second header that may hold the token, beside `Authorization`. */
  readonly tokenHeader?: "x-api-key"
}

/** The problem of a configured token, by its name. A host without type checks may pass no token. */
export const checkTokenOption = (name: string, token: AccessPolicy["token"]): string | undefined => {
  if (token === "allowAll") return undefined
  if (!Redacted.isRedacted(token)) return `${name} must be Redacted, or "allowAll" to admit every client`
  return Redacted.value(token) === "" ? `${name} must not be empty` : undefined
}

export interface AccessDenied {
  readonly status: 401 | 403
  readonly message: string
}

/** Rejects requests of foreign pages: DNS rebinding sends the attacker's host name, a cross-origin page its origin. */
const checkHostAndOrigin = (policy: AccessPolicy, headers: IncomingHttpHeaders) => {
  if (!isOwnHost(headers, policy.allowedHosts)) return "host name not allowed"
  return isOriginAllowed(headers, policy) ? undefined : "origin not allowed"
}

const presentedTokens = ({ tokenHeader }: AccessPolicy, headers: IncomingHttpHeaders): ReadonlyArray<string> => {
  const bearer = bearerToken(headers.authorization ?? "") ?? ""
  const other = tokenHeader === undefined ? undefined : headers[tokenHeader]
  return typeof other === "string" ? [bearer, other] : [bearer]
}

/** Checks host, origin and token of a request; `undefined` when it is allowed. */
export const checkAccess = (policy: AccessPolicy, headers: IncomingHttpHeaders): AccessDenied | undefined => {
  const reason = checkHostAndOrigin(policy, headers)
  if (reason !== undefined) return { status: 403, message: reason }
  const { token } = policy
  if (token === "allowAll" || presentedTokens(policy, headers).some((one) => isToken(one, token))) return undefined
  return { status: 401, message: "missing or invalid bearer token" }
}

/** The headers that let a page of an allowed origin read the response. */
export const corsHeaders = (policy: AccessPolicy, headers: IncomingHttpHeaders): Readonly<Record<string, string>> => {
  const { tokenHeader } = policy
  const origin = listedOriginOf(headers, policy)
  if (origin === undefined) return {}
  const asked = "Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id"
  return {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    "Access-Control-Allow-Headers": tokenHeader === undefined ? asked : `${asked}, ${tokenHeader}`,
    "Access-Control-Expose-Headers": "Mcp-Session-Id",
    Vary: "Origin"
  }
}
