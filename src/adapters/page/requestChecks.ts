import type { IncomingMessage } from "node:http"
import { Duration, Effect, Result, Stream } from "effect"
import { checkJsonBody, parseJson } from "../../domain/json.ts"
import { isSameSecret } from "../auth/secrets.ts"
import { crossOriginOf, isOwnHost } from "../http/hostAccess.ts"
import { type HttpReply, limitedBody } from "../http/messages.ts"
import { badRequest, errorCodes, payloadTooLarge, type ProtocolError } from "../../domain/model/ProtocolError.ts"
import type { PageError } from "../../domain/page/PageCommand.ts"

/** Bytes of a request. */
const maxBodyBytes = 1024 * 1024

/** Time in which the body of a request must arrive. */
const bodyTimeout = Duration.seconds(10)

/** The header that a page of another origin cannot send without a permission of the Server, which gives none. */
const csrfHeader = "x-a2c-csrf"

interface OriginOptions {
  readonly allowedHosts: ReadonlyArray<string>
  /** The page needs no credentials. */
  readonly isOpen: boolean
  /** The request is not for a file. */
  readonly isApi: boolean
}

/**
 * The reason to reject a request of a foreign page. Without authentication the `Host` must be the Server's, against DNS
 * rebinding; otherwise the session does, which a browser sends to the host of its sign-in only.
 */
export const checkOrigin = ({ headers }: IncomingMessage, { allowedHosts, isApi, isOpen }: OriginOptions) => {
  if (isOpen && !isOwnHost(headers, allowedHosts)) return "foreign Host header"
  if (crossOriginOf(headers, ["http", "https"]) !== undefined) return "foreign Origin header"
  // A page of another origin makes some requests without an `Origin`, such as one for an image.
  const isSameSite = ["same-origin", "none", undefined].includes(headers["sec-fetch-site"])
  return isApi && !isSameSite ? "request of another site" : undefined
}

/** The rejection of a request with a wrong content type or without the header that other origins cannot send. */
export const checkFormat = ({ headers }: IncomingMessage): HttpReply | undefined => {
  if (!/^application\/json\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    return pageErrorReply(415, "The content type must be application/json")
  }
  return headers[csrfHeader] ? undefined : pageErrorReply(403, "The header X-A2C-CSRF is missing")
}

/** True when a request carries the token of its session. */
export const hasCsrfToken = ({ headers }: IncomingMessage, token: string): boolean => {
  const given = headers[csrfHeader]
  return typeof given === "string" && isSameSecret(given, token)
}

/** Reads a JSON body and decodes it. */
export const readJsonBody = Effect.fnUntraced(function* <A>(
  request: IncomingMessage,
  decode: (value: unknown) => Result.Result<A, string>,
  maxBytes = maxBodyBytes
): Effect.fn.Return<A, HttpReply | ProtocolError> {
  const error: PageError = { code: 408, message: `The body takes longer than ${Duration.format(bodyTimeout)}` }
  const chunks = yield* Stream.runCollect(
    limitedBody({ request, sendContinue: () => undefined }, maxBytes, payloadTooLarge(maxBytes))
  ).pipe(
    // The reply is not read any more.
    Effect.catchTag("ClientDisconnected", () => badRequest("The body is incomplete")),
    Effect.timeoutOrElse({
      duration: bodyTimeout,
      orElse: () => Effect.fail(pageJsonReply(408, error, { Connection: "close" }))
    })
  )
  const value = parseJson(Buffer.concat(chunks).toString("utf8"))
  const problem = value === undefined ? "not JSON" : checkJsonBody(value)
  const decoded = problem === undefined ? decode(value) : Result.fail(problem)
  return yield* Effect.mapError(Effect.fromResult(decoded), (reason) => badRequest(`The body is invalid: ${reason}`))
})

/**
 * The headers of every response below `/office`. The page loads from its Server only, and creates no policy: nothing may turn
 * text into HTML. It frames apps from their origin.
 */
export const pageHeaders = (appOrigin?: string): Readonly<Record<string, string>> => ({
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    ...(appOrigin === undefined ? [] : [`frame-src ${appOrigin}`])
  ].join("; "),
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-store"
})

export const pageJsonReply = (
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {}
): HttpReply => ({
  status,
  headers: { "Content-Type": "application/json; charset=utf-8", ...headers },
  body: JSON.stringify(value)
})

/** The status of an error. Browsers repeat requests that end with 408; codes beside those of HTTP are in the body. */
const statusOf = (code: number): number => {
  if (code === errorCodes.timeout) return 504
  return code >= 400 && code <= 599 ? code : 422
}

export const pageErrorReply = (code: number, message: string, headers: Readonly<Record<string, string>> = {}) => {
  const error: PageError = { code, message }
  return pageJsonReply(statusOf(code), error, headers)
}
