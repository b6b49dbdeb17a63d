import { randomBytes, timingSafeEqual } from "node:crypto"
import { Effect } from "effect"
import { NodeTransport } from "../../../application/ports/NodeTransport.ts"
import { AdmissionRejected, Unreachable } from "../../../application/ports/Transport.ts"
import { asObject, asString } from "../../../domain/json.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { connectTcp } from "../transport/connectTcp.ts"
import { listenTcp } from "../transport/tcpServer.ts"
import { formatNodeAddress, parseNodeAddress, secretBytes } from "./nodeAddress.ts"

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
