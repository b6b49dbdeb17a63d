import { randomUUID } from "node:crypto"
import { Effect, Layer } from "effect"
import type { NodeLink } from "../../application/ports/NodeLink.ts"
import type { OfficeRegistry } from "../../application/ports/OfficeRegistry.ts"
import type { ListenError } from "../../application/ports/Transport.ts"
import { definedOnly } from "../../domain/objects.ts"
import * as RedisNodeLink from "./nodelink/RedisNodeLink.ts"
import { parseRedisUrl, type RedisUrlInvalid } from "./redisClient.ts"
import * as RedisRegistry from "./registry/RedisRegistry.ts"

/** The Redis that the Servers of a cluster share. The prefix is `{a2c}` unless given. */
export interface RedisClusterOptions extends Pick<RedisNodeLink.RedisNodeLinkOptions, "address" | "url"> {
  readonly prefix?: string
}

/** Makes this process a node of the cluster of all Servers with the same Redis and prefix. Redis may be unreachable. */
export const layer = ({
  address,
  prefix = "{a2c}",
  url
}: RedisClusterOptions): Layer.Layer<OfficeRegistry | NodeLink, RedisUrlInvalid | ListenError> =>
  Layer.unwrap(
    Effect.map(parseRedisUrl(url), () => {
      const node = randomUUID()
      let reconnectLink = () => {}
      return Layer.merge(
        RedisRegistry.layer({ node, prefix: `${prefix}:`, url, onReplaced: () => reconnectLink() }),
        // Registry and node link both use a channel `to:<node>`; the prefix keeps them apart.
        RedisNodeLink.layer({
          node,
          prefix: `${prefix}:link`,
          url,
          onOpened: (reconnect) => (reconnectLink = reconnect),
          ...definedOnly({ address })
        })
      )
    })
  )
