import { createSocket } from "node:dgram"
import { lookup } from "node:dns"
import { networkInterfaces } from "node:os"
import { Effect } from "effect"

/** Where a node takes links, and the secret that another node proves itself with. */
export interface NodeAddress {
  readonly host: string
  readonly port: number
  /** Encrypts the links. */
  readonly secure: boolean
  readonly secret: Buffer
}

export const secretBytes = 32

const schemes = { plain: "tcp:", secure: "tls:" } as const

/** The URL of an address, with the secret as the user. */
export const formatNodeAddress = ({ host, port, secret, secure }: NodeAddress): string =>
  `${secure ? schemes.secure : schemes.plain}//${secret.toString("hex")}@${host.includes(":") ? `[${host}]` : host}:${port}`

/** Parses the URL; `undefined` when it is invalid. */
export const parseNodeAddress = (text: string): NodeAddress | undefined => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== schemes.plain && url.protocol !== schemes.secure)) return undefined
  const secret = Buffer.from(url.username, "hex")
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
  const isValid = host !== "" && url.port !== "" && secret.length === secretBytes
  return isValid ? { host, port: Number(url.port), secure: url.protocol === schemes.secure, secret } : undefined
}

const loopback = "127.0.0.1"

/** The first address that is not this machine's own. */
const anyAddress = (): string =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? loopback

/** The address of the interface by which this machine reaches a host. Sends nothing. */
export const interfaceTo = (host: string): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const done = (address: string) => resume(Effect.succeed(address))
    lookup(host, (failed, address, family) => {
      if (failed !== null) return done(anyAddress())
      const socket = createSocket(family === 6 ? "udp6" : "udp4")
      const finish = (found: string) => {
        socket.close()
        done(found)
      }
      socket.once("error", () => finish(anyAddress()))
      // Any port: a datagram socket connects without a packet.
      return socket.connect(9, address, () => finish(socket.address().address))
    })
  })
