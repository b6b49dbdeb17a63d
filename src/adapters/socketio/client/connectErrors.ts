import { Effect, Option, Schema } from "effect"
import {
  AdmissionRejected,
  type ConnectError,
  Unreachable,
  VersionRejected
} from "../../../application/ports/Transport.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { asObject, asString, parseJson } from "../../../domain/json.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { formatMismatch } from "../../../domain/wire/lines.ts"
import { isBadVersionMessage, originNotAllowedMessage, versionQueryParameter } from "../../../domain/wire/version.ts"
import { engineErrors } from "../engineErrors.ts"
import type { HttpAgent } from "./browserAgent.ts"
import type { ServerAddress } from "./serverAddress.ts"

export interface ConnectAttempt extends Omit<ServerAddress, "paths"> {
  readonly path: string
  /** The configured URL for messages. */
  readonly url: string
  readonly version: string
  readonly token: string | undefined
  /** The next attempt gets a new token. */
  readonly isTokenRenewable: boolean
  readonly headers: { readonly [name: string]: string } | undefined
  readonly agent: HttpAgent
}

/** A connection error of Socket.IO, of any transport. */
export interface RawConnectError extends Error {
  readonly data?: unknown
  readonly description?: unknown
  readonly context?: {
    readonly status?: number
    readonly responseText?: string
    /** The network error when there was no response; browsers hide it. */
    readonly statusText?: unknown
  }
}

const decodeVersionMismatch = Schema.decodeUnknownOption(
  Schema.Struct({
    code: Schema.Literal(errorCodes.versionMismatch),
    message: Schema.String,
    server_version: Schema.String,
    client_version: Schema.String,
    min_supported: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("?"))),
    max_supported: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("?")))
  })
)

/** True for the code and message of a Server's response; spec §2.1 fixes both. */
const isServers = (status: number, code: number, message: string): boolean => {
  if (status === 403) return code === 403 && message === originNotAllowedMessage
  if (status !== 400) return false
  return code === 400
    ? isBadVersionMessage(message)
    : Object.values(engineErrors).some(({ body }) => body.code === code && body.message === message)
}

/** The error in the body of a Server's response; `undefined` for another body, which an intermediary may have sent. */
const errorInBody = (status: number, body: unknown) => {
  const { code, message, ...others } = asObject(body)
  if (typeof code !== "number" || typeof message !== "string") return undefined
  if (code === errorCodes.versionMismatch) return { code, message }
  return Object.keys(others).length === 0 && isServers(status, code, message) ? { code, message } : undefined
}

/** The reason of a rejection without a Server at the path. */
export const notFoundReason = "no_server"

/** The close code of Servers that reject a version after they have accepted a WebSocket. */
const versionCloseCode = 4900

const versionRejectedMessage = "version rejected"

/** The error of a WebSocket that the Server closed because of the version; `undefined` for another end. */
export const versionCloseError = (details: unknown): RawConnectError | undefined => {
  const event = asObject(details)["context"]
  const code = typeof event === "object" && event !== null && "code" in event ? event.code : undefined
  return code === versionCloseCode ? new Error(versionRejectedMessage) : undefined
}

/** The error of a connection that ended before the Server's reply. */
export const earlyCloseError = (): RawConnectError => new Error("the connection was closed before the reply")

/** Statuses of proxies that invite a retry: request timeout, too early, too many requests. */
const retryableStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** Browsers hide why a request failed. */
const hiddenReason = "connection refused or lost, or the Server does not allow the origin of this page (--allow-origin)"

const intermediary = "something in between, such as a proxy or a firewall, not of an A2C-SMCP server"

/** The message of Engine.IO for a response that it cannot decode. */
const undecodableMessage = "server error"

/** The error of a connection whose first messages are not of Socket.IO. */
export const undecodableError = (): RawConnectError => new Error(undecodableMessage)

export const makeUnreachable = (url: string, reason: string): Unreachable =>
  new Unreachable({ message: `Cannot reach ${url}: ${reason}` })

const errorFromResponse = (url: string, status: number, text: string): ConnectError => {
  const body = parseJson(text)
  const mismatch = Option.getOrUndefined(decodeVersionMismatch(body))
  if (mismatch !== undefined) {
    return new VersionRejected({ message: formatMismatch(mismatch), mismatch })
  }
  const error = errorInBody(status, body)
  if (status === 400 && error?.code === engineErrors.unknownSession.body.code) {
    return makeUnreachable(url, "unknown session id (Server restarted, or request routed to another one)")
  }
  if (status >= 300 && status < 400) return makeUnreachable(url, "it redirects to another URL: use that one")
  if (status === 404)
    return new AdmissionRejected({
      code: errorCodes.notFound,
      message: `No A2C-SMCP server is at ${url}`,
      reason: notFoundReason
    })
  if (status < 400 || status >= 500) return makeUnreachable(url, `the server answered with HTTP ${status}`)
  const retryable = retryableStatuses.has(status)
  if (error !== undefined) return new AdmissionRejected({ ...error, retryable })
  const message = `Cannot reach ${url}: HTTP ${status} is the response of ${intermediary}`
  return new Unreachable({ message, permanent: !retryable, reason: "intermediary_response" })
}

/** Sends one plain HTTP request for the reason of a rejected WebSocket, whose error has no body (spec §2.4). */
const probeRejection = ({ agent, headers, origin, path, query: own, token, url, version }: ConnectAttempt) => {
  const query = new URLSearchParams({ ...own, EIO: "4", transport: "polling", [versionQueryParameter]: version })
  const page = new URL(`${origin.replace(/^ws/, "http")}${path}/?${query.toString()}`)
  const authorization = definedOnly({ authorization: token === undefined ? undefined : `Bearer ${token}` })
  return Effect.tryPromise((signal) => agent.request(page, { ...authorization, ...headers }, signal)).pipe(
    Effect.timeout("5 seconds"),
    Effect.match({
      onFailure: () => makeUnreachable(url, agent.explain === undefined ? hiddenReason : "connection timed out"),
      onSuccess: ({ status, text }) =>
        status === 200 ? makeUnreachable(url, "WebSocket refused") : errorFromResponse(url, status, text)
    })
  )
}

/** The error of the network below an error of Socket.IO; browsers hide it. */
const networkErrorOf = ({ context, description }: RawConnectError): Error | undefined => {
  const event = typeof description === "object" && description !== null && "error" in description ? description : {}
  return [context?.statusText, "error" in event ? event.error : undefined].find(
    (error): error is Error => error instanceof Error && "code" in error
  )
}

/** The error of an attempt, unless only a response to a plain request tells it. */
const findConnectError = (attempt: ConnectAttempt, raw: RawConnectError): ConnectError | undefined => {
  const { context, data, description, message } = raw
  const { agent, isTokenRenewable, url } = attempt
  const { code, message: text, reason } = asObject(data)
  if (typeof code === "number") {
    // A retry helps when the Server's check failed, or when a new token replaces an expired one.
    const retryable =
      code === errorCodes.unavailable ||
      code === errorCodes.internalError ||
      (isTokenRenewable && reason === "expired_credentials")
    const details = definedOnly({ reason: asString(reason) })
    return new AdmissionRejected({ code, message: asString(text) ?? message, retryable, ...details })
  }
  const status = typeof description === "number" ? description : (context?.status ?? 0)
  if (status >= 300) return errorFromResponse(url, status, context?.responseText ?? "")
  const networkError = networkErrorOf(raw)
  if (agent.explain !== undefined && networkError !== undefined) {
    const { text: problem, ...details } = agent.explain(networkError)
    return new Unreachable({ message: `Cannot reach ${url}: ${problem}`, ...details })
  }
  switch (message) {
    case "websocket error":
    case versionRejectedMessage:
      return undefined
    case undecodableMessage:
      return makeUnreachable(url, `the response is of ${intermediary}`)
    case "Invalid namespace":
      return new AdmissionRejected({ code: 404, message: `${url} is not an A2C-SMCP server` })
    default:
      return makeUnreachable(url, message === "xhr poll error" ? hiddenReason : message)
  }
}

export const toConnectError = (attempt: ConnectAttempt, raw: RawConnectError): Effect.Effect<ConnectError> => {
  const found = findConnectError(attempt, raw)
  if (found !== undefined) return Effect.succeed(found)
  if (raw.message !== versionRejectedMessage) return probeRejection(attempt)
  const unnamed = new VersionRejected({ message: "Protocol version mismatch", mismatch: undefined })
  return Effect.map(probeRejection(attempt), (error) => (error._tag === "VersionRejected" ? error : unnamed))
}
