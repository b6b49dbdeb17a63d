import { errorCodes } from "../../domain/model/ProtocolError.ts"
import type { PageError } from "../../domain/page/PageCommand.ts"
import type { HttpReply } from "../http/messages.ts"

/**
 * The page loads from its Server only, and creates no policy: nothing may turn text into HTML. It frames apps from their
 * origin.
 */
const contentSecurityPolicy = (appOrigin: string | undefined) =>
  [
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
  ].join("; ")

/** The headers of every response below `/office`. */
export const pageHeaders = (appOrigin?: string): Readonly<Record<string, string>> => ({
  "Content-Security-Policy": contentSecurityPolicy(appOrigin),
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

export const pageErrorReply = (
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {}
): HttpReply => {
  const error: PageError = { code, message }
  return pageJsonReply(statusOf(code), error, headers)
}
