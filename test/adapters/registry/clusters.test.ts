import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { createClient } from "redis"
import * as MemoryNodeTransport from "../../../src/adapters/memory/MemoryNodeTransport.ts"
import * as RedisCluster from "../../../src/adapters/redis/RedisCluster.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import { NodeLink } from "../../../src/application/server/nodes/NodeLink.ts"
import { OfficeRegistry } from "../../../src/application/ports/OfficeRegistry.ts"
import { Limits } from "../../../src/application/server/Limits.ts"
import { startRedis, withoutRedis } from "../../fixtures/redis.ts"
import { loopbackAddress } from "../../loopbackAddress.ts"
import { makeEcho, request } from "../nodeLink.contract.ts"
import { until } from "../../until.ts"

const openNode = Effect.fnUntraced(function* (url: string, options: Partial<RedisCluster.RedisClusterOptions> = {}) {
  const layer = Layer.provideMerge(NodeLink.layer, RedisCluster.layer({ url: Redacted.make(url), ...options }))
  const context = yield* Effect.orDie(Layer.build(Layer.fresh(layer)))
  const [link, registry] = [Context.get(context, NodeLink), Context.get(context, OfficeRegistry)]
  yield* link.serve(makeEcho())
  yield* until(() => registry.state().available)
  return { link, registry }
})

const check = (title: string, body: (url: string) => Effect.gen.Return<void, unknown, Scope.Scope>) =>
  it.live(title, () =>
    Effect.gen(function* () {
      const { url } = yield* startRedis
      yield* body(url)
    })
  )

describe.skipIf(withoutRedis)("the Servers with one Redis", () => {
  check("are one cluster for each prefix, `{a2c}` by default", function* (url) {
    const [one, two] = [yield* openNode(url), yield* openNode(url, { prefix: "{a2c}" })]
    const other = yield* openNode(url, { prefix: "{other}" })
    yield* until(() => one.registry.state().nodes.length === 2)
    assert.deepStrictEqual(other.registry.state().nodes, [other.registry.node])
    assert.deepStrictEqual(yield* request(one.link, two.link.node, "echo", 1), [1])
    assert.strictEqual(yield* request(one.link, other.link.node, "echo", 1), "NodeUnreachable")
    const client = yield* Effect.acquireRelease(
      Effect.promise(() => createClient({ url }).connect()),
      (open) => Effect.sync(() => open.destroy())
    )
    const keys = yield* Effect.promise(() => client.keys("*"))
    assert.sameMembers([...new Set(keys.map((key) => key.split(":", 1)[0]))], ["{a2c}", "{other}"])
  })

  check("name each node alike in registry and node link", function* (url) {
    const { link, registry } = yield* openNode(url)
    assert.strictEqual(link.node, registry.node)
  })

  check("reach each other at the addresses that they listen on", function* (url) {
    const nodes = [loopbackAddress(), loopbackAddress()].map((address) => openNode(url, { address }))
    const [one, two] = yield* Effect.all(nodes)
    assert.isDefined(one)
    assert.isDefined(two)
    assert.deepStrictEqual(yield* request(one.link, two.link.node, "echo", 1), [1])
    assert.deepStrictEqual([one.link.load().links, two.link.load().links], [1, 0])
  })

  it.live("keeps its links while Redis is away", () =>
    Effect.gen(function* () {
      const redis = yield* startRedis
      const [one, two] = [yield* openNode(redis.url), yield* openNode(redis.url)]
      assert.deepStrictEqual(yield* request(one.link, two.link.node, "echo", 1), [1])
      yield* redis.kill
      yield* until(() => !one.registry.state().available)
      assert.deepStrictEqual(yield* request(one.link, two.link.node, "echo", 2), [2])
    })
  )
})

/** Two nodes of a network in memory. */
const pair = Effect.fnUntraced(function* (limits: Partial<Limits>) {
  const network = MemoryNodeTransport.makeNetwork()
  const open = Effect.fnUntraced(function* (node: string) {
    const layer = Layer.provide(NodeLink.layer, MemoryNodeTransport.layer(network, node))
    return Context.get(yield* Layer.build(Layer.fresh(layer)), NodeLink)
  })
  const one = yield* Effect.provideService(open("one"), Limits, { ...Limits.defaultValue(), ...limits })
  return { one, two: yield* open("two") }
})

describe("a node of a cluster", () => {
  it.live("holds no more for other nodes than for its clients", () =>
    Effect.gen(function* () {
      const { one, two } = yield* pair({ totalBacklogBytes: 1000 })
      for (const link of [one, two]) yield* link.serve(makeEcho())
      const long = "x".repeat(1000)
      const unsent = () => one.load().unsent
      assert.strictEqual(yield* request(one, "two", "echo", long), "SendFailed 503")
      assert.strictEqual(unsent(), 0)
      assert.strictEqual(yield* request(two, "one", "echo", long), "SendFailed 503")
      assert.strictEqual(unsent(), 1)
      one.notify("two", ["s1", "s2"], "tell", jsonBody(long))
      assert.strictEqual(unsent(), 3)
      assert.deepStrictEqual(yield* request(one, "two", "echo", 1), [1])
    })
  )
})
