import { randomUUID } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import type { NodeLink } from "../../application/ports/NodeLink.ts"
import type { OfficeRegistry } from "../../application/ports/OfficeRegistry.ts"
import { isRedisUrl } from "./nodelink/PubSubConnection.ts"
import * as RedisNodeLink from "./nodelink/RedisNodeLink.ts"
import * as RedisRegistry from "./registry/RedisRegistry.ts"
import { RedisUrlInvalid } from "./registry/ScriptRunner.ts"

/** The Redis by which Servers share their offices. */
export interface RedisClusterOptions {
  /** `redis://` or `rediss://`; it may hold a password. */
  readonly url: Redacted.Redacted<string>
  /** What all keys and channels begin with: clusters with different ones know nothing of each other. */
  readonly prefix?: string
}

/** A node of the cluster of all Servers with the same Redis and prefix. Redis need not be there when it starts. */
export const layer = ({
  prefix = "{a2c}",
  url
}: RedisClusterOptions): Layer.Layer<OfficeRegistry | NodeLink, RedisUrlInvalid> =>
  Layer.unwrap(
    Effect.suspend(() => {
      if (!isRedisUrl(Redacted.value(url))) return Effect.fail(new RedisUrlInvalid())
      const node = randomUUID()
      return Effect.succeed(
        Layer.merge(
          RedisRegistry.layer({ node, prefix: `${prefix}:`, url }),
          // Channels of its own: both ways call the one of a node `to:` and its name.
          Layer.orDie(RedisNodeLink.layer({ node, prefix: `${prefix}:link`, url }))
        )
      )
    })
  )
