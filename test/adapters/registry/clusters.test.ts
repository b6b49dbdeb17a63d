import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Layer, Redacted, type Scope } from "effect"
import { createClient } from "redis"
import * as RedisCluster from "../../../src/adapters/redis/RedisCluster.ts"
import * as RedisNodeLink from "../../../src/adapters/redis/nodelink/RedisNodeLink.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import { NodeLink } from "../../../src/application/ports/NodeLink.ts"
import { OfficeRegistry } from "../../../src/application/ports/OfficeRegistry.ts"
import { Limits } from "../../../src/application/server/Limits.ts"
import { startRedis, withoutRedis } from "../../fixtures/redis.ts"
import { loopbackAddress } from "../../loopbackAddress.ts"
import { makeEcho, memberOf, outcomeOf, request } from "../nodeLink.contract.ts"
import { until } from "../../until.ts"

const openNode = Effect.fnUntraced(function* (url: string, options: Partial<RedisCluster.RedisClusterOptions> = {}) {
  const layer = RedisCluster.layer({ url: Redacted.make(url), ...options })
  const context = yield* Effect.orDie(Layer.build(Layer.fresh(layer)))
  const [link, registry] = [Context.get(context, NodeLink), Context.get(context, OfficeRegistry)]
  yield* link.serve(makeEcho())
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

  check("connect directly at the addresses that they listen on", function* (url) {
    const nodes = [loopbackAddress(), loopbackAddress()].map((address) => openNode(url, { address }))
    const [one, two] = yield* Effect.all(nodes)
    assert.isDefined(one)
    assert.isDefined(two)
    yield* request(one.link, two.link.node, "echo", 1)
    yield* until(() => one.link.load().directNodes + two.link.load().directNodes === 2)
  })

  check("hold no more for other nodes than for their clients", function* (url) {
    const open = Effect.fnUntraced(function* (node: string, limits: Partial<Limits>) {
      const layer = RedisNodeLink.layer({ url: Redacted.make(url), prefix: "{limits}", node })
      const context = yield* Layer.build(Layer.fresh(layer)).pipe(
        Effect.provideService(Limits, { ...Limits.defaultValue(), ...limits }),
        Effect.orDie
      )
      const link = Context.get(context, NodeLink)
      yield* link.serve(makeEcho())
      return link
    })
    const mib = 1024 * 1024
    const large = yield* open("large", {})
    const sender = yield* open("sender", { totalBacklogBytes: mib, totalIncompleteBytes: 10 * mib })
    const receiver = yield* open("receiver", { totalBacklogBytes: 10 * mib, totalIncompleteBytes: mib })
    const send = (from: NodeLink["Service"], to: NodeLink["Service"]) =>
      Effect.callback<unknown>((resume) => {
        const body = jsonBody("x".repeat(2 * mib))
        from.startRequest(to.node, memberOf(), "echo", body, Duration.minutes(1), (exit) =>
          resume(Effect.succeed(Exit.isSuccess(exit) ? "answered" : outcomeOf(exit)))
        )
      })
    assert.deepStrictEqual(
      [yield* send(sender, large), yield* send(large, receiver), yield* send(receiver, large)],
      ["SendFailed 503", "SendFailed 503", "NodeUnreachable"]
    )
    assert.strictEqual(yield* send(large, sender), "SendFailed 503")
  })
})
