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
import { versionQueryParameter } from "../../../domain/wire/version.ts"
import { formatNetworkError } from "../../bytes/formatNetworkError.ts"
import type { ServerAddress } from "./serverAddress.ts"

export interface ConnectAttempt extends ServerAddress {
  /** The configured URL for messages. */
  readonly url: string
  readonly version: string
  readonly token: string | undefined
  /** The next attempt gets a new token. */
  readonly isTokenRenewable: boolean
  readonly headers: { readonly [name: string]: string } | undefined
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

/** Engine.IO's code for an unknown session id, sent with status 400. */
const unknownSessionCode = 1

/** Statuses of proxies that invite a retry: request timeout, too early, too many requests. */
const retryableStatuses: ReadonlySet<number> = new Set([408, 425, 429])

export const makeUnreachable = (url: string, reason: string): Unreachable =>
  new Unreachable({ message: `Cannot reach ${url}: ${reason}` })

const errorFromResponse = (url: string, status: number, text: string): ConnectError => {
  const body = parseJson(text)
  const mismatch = Option.getOrUndefined(decodeVersionMismatch(body))
  if (mismatch !== undefined) {
    const { client_version, max_supported, min_supported, server_version } = mismatch
    const message =
      `Protocol version mismatch: Server ${server_version}, client ${client_version}, ` +
      `supported ${min_supported} to ${max_supported}`
    return new VersionRejected({ message, mismatch })
  }
  const { code: bodyCode, message: bodyMessage } = asObject(body)
  const code = typeof bodyCode === "number" ? bodyCode : status
  if (status === 400 && code === unknownSessionCode) {
    return makeUnreachable(url, "unknown session id (Server restarted, or request routed to another one)")
  }
  if (status >= 300 && status < 400) return makeUnreachable(url, "it redirects to another URL: use that one")
  if (status === 404) return new AdmissionRejected({ code, message: `No A2C-SMCP server is at ${url}` })
  if (status < 400 || status >= 500) return makeUnreachable(url, `the server answered with HTTP ${status}`)
  return new AdmissionRejected({
    code,
    message: asString(bodyMessage) || `The server answered with HTTP ${status}`,
    retryable: retryableStatuses.has(status)
  })
}

/** Sends one plain HTTP request for the reason of a rejected WebSocket, whose error has no body (spec §2.4). */
const probeRejection = ({ headers, origin, path, query: own, token, url, version }: ConnectAttempt) => {
  const query = new URLSearchParams({ ...own, EIO: "4", transport: "polling", [versionQueryParameter]: version })
  return Effect.tryPromise(async (signal) => {
    const response = await fetch(`${origin.replace(/^ws/, "http")}${path}/?${query.toString()}`, {
      signal,
      redirect: "manual",
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers }
    })
    return { status: response.status, text: await response.text() }
  }).pipe(
    Effect.timeout("5 seconds"),
    Effect.match({
      onFailure: () => makeUnreachable(url, "connection timed out"),
      onSuccess: ({ status, text }) =>
        status === 200 ? makeUnreachable(url, "WebSocket refused") : errorFromResponse(url, status, text)
    })
  )
}

export const toConnectError = (
  attempt: ConnectAttempt,
  { context, data, description, message }: RawConnectError
): Effect.Effect<ConnectError> => {
  const { isTokenRenewable, url } = attempt
  const { code, message: text, reason } = asObject(data)
  if (typeof code === "number") {
    // A retry helps when the Server's check failed, or when a new token replaces an expired one.
    const retryable =
      code === errorCodes.unavailable ||
      code === errorCodes.internalError ||
      (isTokenRenewable && reason === "expired_credentials")
    const details = definedOnly({ reason: asString(reason) })
    return Effect.succeed(new AdmissionRejected({ code, message: asString(text) ?? message, retryable, ...details }))
  }
  const status = typeof description === "number" ? description : (context?.status ?? 0)
  if (status >= 300) return Effect.succeed(errorFromResponse(url, status, context?.responseText ?? ""))
  if (message === "websocket error") return probeRejection(attempt)
  if (message === "Invalid namespace") {
    return Effect.succeed(new AdmissionRejected({ code: 404, message: `${url} is not an A2C-SMCP server` }))
  }
  const networkError = context?.statusText
  const problem = message === "xhr poll error" ? "connection refused or lost" : message
  return Effect.succeed(
    makeUnreachable(url, networkError instanceof Error ? formatNetworkError(networkError) : problem)
  )
}
