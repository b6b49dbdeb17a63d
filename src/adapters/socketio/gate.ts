import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { Result } from "effect"
import type { Handshake } from "../../application/ports/Transport.ts"
import {
  originNotAllowedMessage,
  parseVersion,
  type ServedVersions,
  versionGate,
  versionQueryParameter
} from "../../domain/wire/version.ts"
import { isOriginAllowed, listedOriginOf, type PageAccess } from "../http/hostAccess.ts"

/** A response that rejects a request before Socket.IO sees it. */
export interface GateRejection {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: { readonly code: number; readonly message: string }
}

/** The latest parsed URL: all checks of a request need it, one after the other. */
let latest: { readonly text: string; readonly url: URL | null } = { text: "", url: null }

/** The URL of a request; `null` for an invalid one. */
export const requestUrl = ({ url: text = "/" }: IncomingMessage): URL | null => {
  if (latest.text !== text) latest = { text, url: URL.parse(text, "http://localhost") }
  return latest.url
}

/** True for requests to a path of Socket.IO, with or without a trailing slash (case 023). */
export const isSocketIoRequest = (paths: ReadonlyArray<string>, request: IncomingMessage): boolean => {
  const pathname = requestUrl(request)?.pathname
  return paths.some((path) => pathname === path || pathname === `${path}/`)
}

/** True for a request that opens a WebSocket at a path. Other `Upgrade` headers are ignored (RFC 9110 §7.8). */
export const opensWebSocket = (paths: ReadonlyArray<string>, request: IncomingMessage): boolean =>
  request.method === "GET" &&
  isSocketIoRequest(paths, request) &&
  requestUrl(request)?.searchParams.get("transport") !== "polling" &&
  (request.headers.upgrade ?? "").split(",").some((protocol) => protocol.trim().toLowerCase() === "websocket")

const originNotAllowed: GateRejection = {
  status: 403,
  headers: {},
  body: { code: 403, message: originNotAllowedMessage }
}

/** The headers that let a page read the response. */
export const originHeaders = ({ headers }: IncomingMessage, access: PageAccess) => {
  const origin = listedOriginOf(headers, access)
  return origin === undefined ? {} : { "Access-Control-Allow-Origin": origin, Vary: "Origin" }
}

/**
 * Checks origin and protocol version (spec §2.1) of a request; `undefined` when it may pass. Requests of an open session
 * need no version: its first request passed the gate.
 */
export const checkRequest = (
  request: IncomingMessage,
  served: ServedVersions,
  allowedOrigins: ReadonlyArray<string>
): GateRejection | undefined => {
  const access: PageAccess = { allowedOrigins, schemes: ["http", "https"] }
  if (!isOriginAllowed(request.headers, access)) return originNotAllowed
  if (request.method === "OPTIONS") return undefined
  const query = requestUrl(request)?.searchParams
  const versions = query?.getAll(versionQueryParameter) ?? []
  // Engine.IO uses the last one, and opens a session when it is empty.
  const session = query?.getAll("sid").at(-1) ?? ""
  if (versions.length === 0 && session !== "") return undefined
  const gated = versionGate(versions, served)
  if (Result.isSuccess(gated)) return undefined
  return { ...gated.failure, headers: { ...gated.failure.headers, ...originHeaders(request, access) } }
}

/** True for a request that states a protocol version: one of a member. */
export const hasVersion = (request: IncomingMessage): boolean =>
  requestUrl(request)?.searchParams.has(versionQueryParameter) ?? false

const encodeRejection = ({ body, headers }: GateRejection) => {
  const text = JSON.stringify(body)
  const length = String(Buffer.byteLength(text))
  return { text, headers: { ...headers, "Content-Type": "application/json", "Content-Length": length } }
}

export const rejectRequest = (response: ServerResponse, rejection: GateRejection): void => {
  const { headers, text } = encodeRejection(rejection)
  response.writeHead(rejection.status, headers).end(text)
}

/** Rejects an upgrade request, for which Node gives no response object, and ends its socket. */
export const rejectUpgrade = (socket: Duplex, rejection: GateRejection): void => {
  const { headers, text } = encodeRejection(rejection)
  const lines = [
    `HTTP/1.1 ${rejection.status} ${STATUS_CODES[rejection.status] ?? "Error"}`,
    ...Object.entries({ ...headers, Connection: "close" }).map(([name, value]) => `${name}: ${value}`)
  ]
  socket.on("error", () => socket.destroy())
  // The peer may keep its half open, and no HTTP timeout applies after an upgrade.
  socket.once("finish", () => socket.destroy())
  socket.end(`${lines.join("\r\n")}\r\n\r\n${text}`)
}

/** What a connection keeps of the request that opened it. */
export interface RequestHead {
  readonly headers: IncomingMessage["headers"]
  /** The stated protocol version. */
  readonly version: string
}

export const readHead = (request: IncomingMessage): RequestHead => ({
  headers: request.headers,
  version: requestUrl(request)?.searchParams.get(versionQueryParameter) ?? ""
})

/** The handshake of a connection whose first request passed the version gate. */
export const makeHandshake = ({ headers, version }: RequestHead, remoteAddress: string, auth: unknown): Handshake => ({
  version: Result.getOrThrow(parseVersion(version)),
  auth,
  headers,
  remoteAddress
})
