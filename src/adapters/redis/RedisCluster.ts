import { randomUUID } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { NodeTransport, type ListenError } from "../../application/ports/Transport.ts"
import { OfficeRegistry } from "../../application/ports/OfficeRegistry.ts"
import { makeTcpNodeTransport, interfaceTo } from "../tcp/nodes/TcpNodeTransport.ts"
import { parseRedisUrl, type RedisNodeOptions, type RedisUrlInvalid } from "./redisClient.ts"
import * as RedisRegistry from "./registry/RedisRegistry.ts"

/** The Redis that the Servers of a cluster share. The prefix is `{a2c}` unless given. */
export interface RedisClusterOptions extends Pick<RedisNodeOptions, "url"> {
  readonly prefix?: string
  /**
   * The host and the port where this node listens for the others, which must reach it there; with port 0, any free port.
   * By default the address by which this machine reaches Redis, and a free port.
   */
  readonly address?: { readonly host: string; readonly port: number }
}

/**
 * Makes this process a node of the cluster of all Servers with the same Redis and prefix. Redis holds the memberships and
 * the addresses of the nodes, which exchange messages over their own links: encrypted when the connection to Redis is.
 * Redis may be unreachable at the start.
 */
export const layer = ({
  address,
  prefix = "{a2c}",
  url
}: RedisClusterOptions): Layer.Layer<OfficeRegistry | NodeTransport, RedisUrlInvalid | ListenError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { isSecure, socket } = yield* parseRedisUrl(url)
      const node = randomUUID()
      const redisHost = ("host" in socket ? socket.host : undefined) ?? "localhost"
      let registry: RedisRegistry.RedisRegistry | undefined
      const links = yield* makeTcpNodeTransport({
        node,
        address: address ?? { host: yield* interfaceTo(redisHost), port: 0 },
        secure: isSecure,
        addressOf: (other) => registry?.addressOf(other) ?? Effect.undefined
      })
      registry = yield* RedisRegistry.make({ node, prefix: `${prefix}:`, url, address: links.address })
      return Context.make(OfficeRegistry, registry.registry).pipe(Context.add(NodeTransport, links.transport))
    })
  )
