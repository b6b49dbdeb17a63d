import { randomBytes, timingSafeEqual } from "node:crypto"
import { Effect } from "effect"
import { NodeTransport, AdmissionRejected, Unreachable } from "../../../application/ports/Transport.ts"
import { asObject, asString } from "../../../domain/json.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { connectTcp } from "../transport/connectTcp.ts"
import { listenTcp } from "../transport/tcpServer.ts"
import { createSocket } from "node:dgram"
import { lookup } from "node:dns"
import { networkInterfaces } from "node:os"

/** Where a node takes links, and the secret that another node proves itself with. */
export interface NodeAddress {
  readonly host: string
  readonly port: number
  /** Encrypts the links. */
  readonly secure: boolean
  readonly secret: Buffer
}

const secretBytes = 32

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
      const finish = (found: string) => socket.close(() => done(found))
      socket.once("error", () => finish(anyAddress()))
      // Any port: a datagram socket connects without a packet.
      return socket.connect(9, address, () => finish(socket.address().address))
    })
  })

/** The largest message between two nodes, in bytes: more than any message of a member. */
const maxMessageBytes = 64 * 1024 * 1024

export interface TcpNodeOptions {
  readonly node: string
  /** The host and the port where this node listens; 0 picks a free port. */
  readonly address: { readonly host: string; readonly port: number }
  /** Encrypts the links to this node. */
  readonly secure: boolean
  /** The address that another node announces; `undefined` without one. */
  readonly addressOf: (node: string) => Effect.Effect<string | undefined, { readonly message: string }>
}

const notOfCluster = new AdmissionRejected({ code: errorCodes.unauthorized, message: "not a node of this cluster" })

/**
 * The links of a node over TCP, which listens as long as the scope. The address that it announces to the other nodes holds
 * the secret that they prove themselves with: only they may read it.
 */
export const makeTcpNodeTransport = Effect.fnUntraced(function* ({
  address: { host, port },
  addressOf,
  node,
  secure
}: TcpNodeOptions) {
  const secret = randomBytes(secretBytes)
  const server = yield* listenTcp({ host, port, maxMessageBytes, ...(secure && { key: secret }) })
  const isMember = (auth: unknown): boolean => {
    const sent = Buffer.from(asString(asObject(auth)["secret"]) ?? "", "hex")
    return sent.length === secretBytes && timingSafeEqual(sent, secret)
  }
  const transport = NodeTransport.of({
    node,
    serve: (accept, onBacklogChange) =>
      server.serve(
        (link, handshake) => (isMember(handshake.auth) ? accept(link, handshake) : Effect.fail(notOfCluster)),
        onBacklogChange
      ),
    connect: Effect.fnUntraced(function* (to, options) {
      const announced = yield* Effect.mapError(addressOf(to), ({ message }) => new Unreachable({ message }))
      const address = announced === undefined ? undefined : parseNodeAddress(announced)
      if (address === undefined) return yield* new Unreachable({ message: "it announces no address" })
      const key = address.secure ? { key: address.secret } : {}
      const auth = { ...options.auth, secret: address.secret.toString("hex") }
      return yield* connectTcp({ host: address.host, port: address.port, ...key }, { ...options, auth })
    })
  })
  return { transport, address: formatNodeAddress({ host, port: server.port, secure, secret }) }
})
