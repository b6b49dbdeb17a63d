import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted, type Scope } from "effect"
import { createClient } from "redis"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import * as RedisCluster from "../../../src/adapters/redis/RedisCluster.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import { NodeLink } from "../../../src/application/server/nodes/NodeLink.ts"
import { NodeTransport, type Link } from "../../../src/application/ports/Transport.ts"
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

/** Two nodes of a network in memory, whose links have this backlog. */
const pair = Effect.fnUntraced(function* (backlog: () => number, limits: Partial<Limits> = {}) {
  const cluster = MemoryCluster.makeCluster()
  const loaded = (link: Link): Link => ({ ...link, backlog })
  const adapt = Effect.map(NodeTransport, ({ connect, node, serve }) => ({
    node,
    serve: (accept: Parameters<typeof serve>[0]) => serve((link, handshake) => accept(loaded(link), handshake)),
    connect: (...to: Parameters<typeof connect>) => Effect.map(connect(...to), loaded)
  }))
  const open = Effect.fnUntraced(function* (node: string) {
    const transport = Layer.provide(Layer.effect(NodeTransport, adapt), MemoryCluster.layerNode(cluster, node))
    const context = yield* Layer.build(Layer.fresh(Layer.provide(NodeLink.layer, transport)))
    const link = Context.get(context, NodeLink)
    yield* link.serve(makeEcho())
    return link
  })
  const one = yield* Effect.provideService(open("one"), Limits, { ...Limits.defaultValue(), ...limits })
  return { one, two: yield* open("two") }
})

describe("a node of a cluster", () => {
  it.live.each([
    ["64 MiB for one other", 64 * 1024 * 1024, {}],
    ["no more for all others than for its clients", 1000, { totalBacklogBytes: 1000 }]
  ] as const)("holds %s", ([, limit, limits]) =>
    Effect.gen(function* () {
      let backlog = limit - 1
      const { one, two } = yield* pair(() => backlog, limits)
      const unsent = () => one.load().unsent
      assert.deepStrictEqual(yield* request(one, "two", "echo", 1), [1])
      backlog = limit
      assert.strictEqual(yield* request(one, "two", "echo", 1), "SendFailed 503")
      assert.strictEqual(unsent(), 0)
      one.notify("two", ["s1", "s2"], "tell", jsonBody(1))
      assert.strictEqual(unsent(), 2)
      backlog = 0
      assert.deepStrictEqual(yield* request(two, "one", "echo", 1), [1])
    }).pipe(Effect.scoped)
  )

  it.live("rejects a request whose outcome finds a full queue", () =>
    Effect.gen(function* () {
      let backlog = 0
      const { one, two } = yield* pair(() => backlog, { totalBacklogBytes: 1000 })
      const asking = yield* Effect.forkChild(request(two, "one", "echo", 1), { startImmediately: true })
      yield* until(() => two.load().links === 1)
      backlog = 1000
      assert.strictEqual(yield* Fiber.join(asking), "SendFailed 503")
      assert.strictEqual(one.load().unsent, 1)
    }).pipe(Effect.scoped)
  )
})
