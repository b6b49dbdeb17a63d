import type { IncomingHttpHeaders } from "node:http"
import { isIP } from "node:net"

/** True for addresses that only this machine reaches: 127.0.0.0/8 and ::1. */
export const isLoopbackAddress = (address: string): boolean => /^(127\.|::1$|::ffff:127\.)/.test(address)

const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, "$1")

/** True for loopback addresses, with or without brackets, and `localhost`. Other names may resolve to any address. */
export const isLoopbackHost = (host: string): boolean => {
  const address = withoutBrackets(host)
  return host === "localhost" || (isIP(address) !== 0 && isLoopbackAddress(address))
}

/** The host name that a request was sent to, in lower case; `undefined` without a valid `Host` header. */
export const requestedHostname = ({ host }: IncomingHttpHeaders): string | undefined =>
  URL.parse(`http://${host ?? ""}`)?.hostname.toLowerCase()

/** True for IP addresses and `localhost`: DNS rebinding needs a name that the attacker controls. */
export const isRebindingSafe = (hostname: string | undefined): boolean =>
  hostname !== undefined && (hostname === "localhost" || isIP(withoutBrackets(hostname)) !== 0)

/** The origin of a foreign page; `undefined` for own pages, served under `schemes`, and for clients without a page. */
export const crossOriginOf = (
  { host, origin }: IncomingHttpHeaders,
  schemes: ReadonlyArray<"http" | "https"> = ["http"]
): string | undefined => (schemes.some((scheme) => origin === `${scheme}://${host}`) ? undefined : origin)
