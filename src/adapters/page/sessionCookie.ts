import type { IncomingMessage } from "node:http"
import { crossOriginOf } from "../http/hostAccess.ts"

/** Browsers share cookies among all ports of a host. */
const cookieName = ({ socket }: IncomingMessage): string => `a2c_page_${socket.localPort ?? 0}`

/** The id of the session that a request states. */
export const readSessionCookie = (request: IncomingMessage): string | undefined => {
  const prefix = `${cookieName(request)}=`
  const cookies = (request.headers.cookie ?? "").split(";").map((cookie) => cookie.trim())
  return cookies.find((cookie) => cookie.startsWith(prefix))?.slice(prefix.length)
}

/** A proxy may terminate TLS: then the page has an origin with https. */
const isSecure = ({ headers, socket }: IncomingMessage): boolean =>
  "encrypted" in socket || (headers.origin !== undefined && crossOriginOf(headers, ["https"]) === undefined)

/** The header that sets the cookie for some seconds; 0 removes it. */
export const sessionCookie = (request: IncomingMessage, id: string, maxAgeSeconds: number) => ({
  "Set-Cookie": [
    `${cookieName(request)}=${id}`,
    "Path=/office",
    `Max-Age=${maxAgeSeconds}`,
    "HttpOnly",
    "SameSite=Strict",
    ...(isSecure(request) ? ["Secure"] : [])
  ].join("; ")
})
