import { Effect, Layer, Redacted } from "effect"
import { describe } from "vitest"
import * as MemoryNodeLink from "../../src/adapters/memory/MemoryNodeLink.ts"
import * as RedisNodeLink from "../../src/adapters/redis/nodelink/RedisNodeLink.ts"
import { NodeLink } from "../../src/application/ports/NodeLink.ts"
import { startRedis, withoutRedis } from "../fixtures/redis.ts"
import { contract } from "./nodeLink.contract.ts"

const built = <E>(layer: Layer.Layer<NodeLink, E>) =>
  Effect.orDie(Effect.flatMap(Layer.build(Layer.fresh(layer)), (context) => Effect.provideContext(NodeLink, context)))

contract(
  "in memory",
  Effect.sync(() => {
    const cluster = MemoryNodeLink.makeNetwork()
    return { node: (name) => built(MemoryNodeLink.layer(cluster, name)) }
  })
)

describe.skipIf(withoutRedis)("with Redis", () => {
  contract(
    "over direct connections",
    Effect.map(startRedis, ({ url }) => ({
      node: (node) =>
        built(
          RedisNodeLink.layer({
            url: Redacted.make(url),
            prefix: "{a2c}",
            node,
            address: { host: "127.0.0.1", port: 0 }
          })
        )
    }))
  )

  contract(
    "over Redis",
    Effect.map(startRedis, ({ url }) => ({
      node: (node) => built(RedisNodeLink.layer({ url: Redacted.make(url), prefix: "{a2c}", node }))
    }))
  )
})
