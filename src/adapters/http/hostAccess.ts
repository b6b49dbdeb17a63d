import type { IncomingHttpHeaders } from "node:http"
import { BlockList, isIP } from "node:net"

/**
 * Where an IP address leads: to this machine, its link, a private network, a special purpose, or the internet. Some local
 * proxies answer every name with a benchmark address.
 */
export type AddressKind = "loopback" | "link-local" | "private" | "benchmark" | "reserved" | "public"

/** The special-purpose addresses of IANA (RFC 6890). */
const subnets: { readonly [Kind in Exclude<AddressKind, "public">]: string } = {
  loopback: "127.0.0.0/8 ::1/128",
  "link-local": "169.254.0.0/16 fe80::/10",
  private: "10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.168.0.0/16 fc00::/7",
  benchmark: "198.18.0.0/15",
  reserved: [
    "0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4",
    "::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fec0::/10 ff00::/8"
  ].join(" ")
}

/** A list also matches IPv4 addresses that are mapped to IPv6. */
const makeList = (kind: keyof typeof subnets) => {
  const list = new BlockList()
  for (const subnet of subnets[kind].split(" ")) {
    const [address = "", bits] = subnet.split("/")
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? "ipv4" : "ipv6")
    // The same address behind a gateway from IPv6 to IPv4 (RFC 6052).
    if (isIP(address) === 4) list.addSubnet(`64:ff9b::${address}`, Number(bits) + 96, "ipv6")
  }
  return { kind, list }
}

const kinds = ["loopback", "link-local", "private", "benchmark", "reserved"] as const

/** Made for the first address: that takes milliseconds, and many commands check none. */
let lists: ReadonlyArray<ReturnType<typeof makeList>> | undefined

/** The kind of an IP address, with or without brackets; `undefined` for names. */
export const addressKind = (host: string): AddressKind | undefined => {
  const [address = ""] = host.replace(/^\[(.*)\]$/, "$1").split("%")
  const version = isIP(address)
  if (version === 0) return undefined
  lists ??= kinds.map(makeList)
  return lists.find(({ list }) => list.check(address, version === 4 ? "ipv4" : "ipv6"))?.kind ?? "public"
}

/**
 * Tells whether a peer may name an address of the kind `to`: a public one, or one that the peer reaches itself, because it
 * has the same kind. A peer on this machine also reaches private networks. Link-local and reserved addresses are rejected.
 */
export const mayName = (peer: AddressKind, to: AddressKind): boolean => {
  if (to === "link-local" || to === "reserved") return false
  return to === "public" || to === peer || (peer === "loopback" && to === "private")
}

/** True for loopback addresses, with or without brackets, and `localhost`. Other names may resolve to any address. */
export const isLoopbackHost = (host: string) => host.toLowerCase() === "localhost" || addressKind(host) === "loopback"

/** The pages that may use a server. */
export interface PageAccess {
  /** Origins of foreign pages, such as `https://app.example.org`; `*` for all. */
  readonly allowedOrigins: ReadonlyArray<string>
  /** Names of the server in lower case, beside `localhost` and IP addresses. */
  readonly allowedHosts?: ReadonlyArray<string>
  /** The schemes of the server's own pages. */
  readonly schemes?: ReadonlyArray<"http" | "https">
}

/**
 * True when the `Host` header has an IP address, `localhost` or an allowed name: DNS rebinding needs a name that the
 * attacker controls.
 */
export const isOwnHost = ({ host }: IncomingHttpHeaders, allowedHosts: ReadonlyArray<string> = []): boolean => {
  const hostname = URL.parse(`http://${host ?? ""}`)?.hostname.toLowerCase()
  if (hostname === undefined) return false
  return hostname === "localhost" || addressKind(hostname) !== undefined || allowedHosts.includes(hostname)
}

/** The origin of a foreign page; `undefined` for own pages and for clients without a page. */
export const crossOriginOf = (
  { host, origin }: IncomingHttpHeaders,
  schemes: PageAccess["schemes"] = ["http"]
): string | undefined => (schemes.some((scheme) => origin === `${scheme}://${host}`) ? undefined : origin)

/** The origin of a page of the list. */
export const listedOriginOf = ({ origin }: IncomingHttpHeaders, { allowedOrigins }: PageAccess): string | undefined =>
  origin !== undefined && (allowedOrigins.includes(origin) || allowedOrigins.includes("*")) ? origin : undefined

/** True for clients without a page, pages of the list, and own pages. */
export const isOriginAllowed = (headers: IncomingHttpHeaders, access: PageAccess): boolean => {
  if (headers.origin === undefined || listedOriginOf(headers, access) !== undefined) return true
  return crossOriginOf(headers, access.schemes) === undefined && isOwnHost(headers, access.allowedHosts)
}
