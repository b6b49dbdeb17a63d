import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Result } from "effect"
import type { Socket as EngineSocket } from "engine.io"
import type { Handshake } from "../../application/ports/Transport.ts"
import { parseVersion, type Version, versionGate, versionQueryParameter } from "../../domain/wire/version.ts"
import { crossOriginOf, isRebindingSafe, requestedHostname } from "../http/hostAccess.ts"

/** An answer that turns a request away before Socket.IO sees it. */
export interface Rejection {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: unknown
}

/** The URL of a request; the host is of no account. */
export const requestUrl = (request: IncomingMessage): URL | undefined => {
  try {
    return new URL(request.url ?? "/", "http://localhost")
  } catch {
    return undefined
  }
}

/** Is this request for Socket.IO? The path answers with and without its trailing slash (case 023). */
export const isSocketIoRequest = (path: string, request: IncomingMessage): boolean => {
  const pathname = requestUrl(request)?.pathname
  return pathname === path || pathname === `${path}/`
}

const isAllowed = (origin: string, allowed: ReadonlyArray<string>) =>
  allowed.includes(origin) || allowed.includes("*")

/**
 * Accepts clients that are no browser, pages of allowed origins, and pages of this server. The Server's own origin counts
 * only with a rebinding-safe host.
 */
const checkOrigin = ({ headers }: IncomingMessage, allowed: ReadonlyArray<string>): Rejection | undefined => {
  const { origin } = headers
  if (origin === undefined || isAllowed(origin, allowed)) return undefined
  const isOwn = crossOriginOf(headers, ["http", "https"]) === undefined
  if (isOwn && isRebindingSafe(requestedHostname(headers))) return undefined
  return { status: 403, headers: {}, body: { code: 403, message: "Origin not allowed" } }
}

/** The headers that let a page read our answer. */
const corsHeaders = (request: IncomingMessage, allowed: ReadonlyArray<string>) => {
  const { origin } = request.headers
  return origin !== undefined && isAllowed(origin, allowed)
    ? { "Access-Control-Allow-Origin": origin, Vary: "Origin" }
    : {}
}

/**
 * Why a request must not reach Socket.IO, or `undefined` when it may: the version gate (spec §2.1) and the list of
 * origins. Requests of an open session that say nothing of the version pass: the session was gated when it opened.
 */
export const checkRequest = (
  request: IncomingMessage,
  server: Version,
  allowedOrigins: ReadonlyArray<string>
): Rejection | undefined => {
  const rejection = checkOrigin(request, allowedOrigins)
  if (rejection !== undefined || request.method === "OPTIONS") return rejection
  const query = requestUrl(request)?.searchParams
  const versions = query?.getAll(versionQueryParameter) ?? []
  // Engine.IO goes by the last one, and opens a session when that is empty.
  const session = query?.getAll("sid").at(-1) ?? ""
  if (versions.length === 0 && session !== "") return undefined
  return Result.match(versionGate(versions, server), {
    onSuccess: () => undefined,
    onFailure: ({ body, headers, status }) => ({
      status,
      headers: { ...headers, ...corsHeaders(request, allowedOrigins) },
      body
    })
  })
}

const encodeRejection = ({ body, headers }: Rejection) => {
  const text = JSON.stringify(body)
  return {
    text,
    headers: {
      ...headers,
      "Content-Type": "application/json",
      "Content-Length": String(Buffer.byteLength(text))
    }
  }
}

/** Answers a plain request. */
export const rejectRequest = (response: ServerResponse, rejection: Rejection): void => {
  const { headers, text } = encodeRejection(rejection)
  response.writeHead(rejection.status, headers).end(text)
}

const reasonPhrases: { readonly [status: number]: string } = {
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found"
}

/** Answers a request to upgrade, for which Node gives no response object, and ends it. */
export const rejectUpgrade = (socket: Duplex, rejection: Rejection): void => {
  const { headers, text } = encodeRejection(rejection)
  const lines = [
    `HTTP/1.1 ${rejection.status} ${reasonPhrases[rejection.status] ?? "Error"}`,
    ...Object.entries({ ...headers, Connection: "close" }).map(([name, value]) => `${name}: ${value}`)
  ]
  socket.on("error", () => socket.destroy())
  // Its other half is open as long as the far end likes, and no timeout of HTTP holds for it any more.
  socket.once("finish", () => socket.destroy())
  socket.end(`${lines.join("\r\n")}\r\n\r\n${text}`)
}

/** The handshake of a connection whose first request passed the version gate. */
export const makeHandshake = ({ remoteAddress, request }: EngineSocket, auth: unknown): Handshake => {
  const version = requestUrl(request)?.searchParams.get(versionQueryParameter) ?? ""
  return {
    version: Result.getOrThrow(parseVersion(version)),
    auth,
    headers: request.headers,
    remoteAddress
  }
}
