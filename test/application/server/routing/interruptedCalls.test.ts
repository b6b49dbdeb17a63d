import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import * as MemoryCluster from "../../../../src/adapters/memory/MemoryCluster.ts"
import { recordGauges } from "../../../recordGauges.ts"
import { settle } from "../../../settle.ts"
import { startNode } from "../clusterNode.ts"
import { clusterWith } from "../parts.ts"

/** What a call occupies while it is in progress. */
const counts = [
  "calls_in_flight",
  "request_bytes",
  'node_requests{"direction":"out"}',
  'node_requests{"direction":"in"}'
]

/** How long the registry takes. */
interface RegistryDelays {
  readonly lookUp?: Effect.Effect<void>
  readonly disconnect?: Effect.Effect<void>
}

/** A Server of a cluster in memory that admits one call of each member. */
const startServer = Effect.fnUntraced(function* (
  cluster: MemoryCluster.MemoryCluster,
  name: string,
  { disconnect = Effect.void, lookUp = Effect.void }: RegistryDelays = {}
) {
  const gauges = recordGauges()
  const node = yield* startNode(cluster, name, {
    limits: { callsPerAgent: 1, callsPerComputer: 1 },
    metrics: gauges.metrics,
    adapt: (layer) =>
      clusterWith(
        (registry) => ({
          isComputerElsewhere: (...query) => Effect.andThen(lookUp, registry.isComputerElsewhere(...query)),
          disconnect: (...session) => Effect.andThen(disconnect, registry.disconnect(...session))
        }),
        layer
      )
  })
  return { ...node, occupied: () => counts.map((count) => gauges.read(count)) }
})

/** Two Servers, each with a Computer that never replies. `reached` counts the calls that arrived. */
const world = Effect.fnUntraced(function* (delays?: RegistryDelays) {
  const cluster = MemoryCluster.makeCluster()
  let reached = 0
  const never = Effect.andThen(
    Effect.sync(() => void (reached += 1)),
    Effect.never
  )
  const one = yield* startServer(cluster, "one", delays)
  const two = yield* startServer(cluster, "two")
  yield* one.computer("near", { answer: () => never })
  yield* two.computer("far", { answer: () => never })
  /** Lets an Agent of the first Server make a call, and disconnects it after the effect `until`. */
  const interruptCall = Effect.fnUntraced(function* (computer: string, until: Effect.Effect<unknown>) {
    const scope = yield* Scope.make()
    const agent = yield* Scope.provide(one.agent("agent"), scope)
    yield* Effect.forkIn(agent.request("client:get_tools", { agent: "agent", req_id: "r", computer }), scope)
    yield* until
    const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
    yield* settle
    return closing
  })
  const occupied = () => [...one.occupied(), ...two.occupied()]
  return { interruptCall, occupied, reached: () => reached }
})

const nothing = [...counts, ...counts].map(() => 0)

/** Waits until a condition holds, without virtual time. */
const until = (what: () => boolean) => Effect.repeat(Effect.yieldNow, { until: what })

describe("a call whose Agent disconnects", () => {
  for (const [computer, where] of [
    ["near", "of the same Server"],
    ["far", "of another Server"]
  ] as const) {
    it.effect(`makes room for the next call to the Computer ${where}`, () =>
      Effect.gen(function* () {
        const { interruptCall, occupied, reached } = yield* world()
        for (const attempt of [1, 2, 3]) {
          yield* interruptCall(
            computer,
            until(() => reached() === attempt)
          )
          assert.deepStrictEqual(occupied(), nothing)
        }
      })
    )
  }

  it.effect("is not counted any more, though the registry does not know of the disconnect", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { interruptCall, occupied, reached } = yield* world({ disconnect: Deferred.await(gate) })
      const closing = yield* interruptCall(
        "far",
        until(() => reached() === 1)
      )
      assert.isUndefined(closing.pollUnsafe())
      assert.deepStrictEqual(occupied(), nothing)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
    })
  )

  it.effect("is not counted any more while the registry searches for its Computer", () =>
    Effect.gen(function* () {
      const searching = yield* Deferred.make<void>()
      const lookUp = Effect.andThen(Deferred.succeed(searching, undefined), Effect.never)
      const { interruptCall, occupied } = yield* world({ lookUp })
      yield* interruptCall("absent", Deferred.await(searching))
      assert.deepStrictEqual(occupied(), nothing)
    })
  )

  it.effect("is not counted any more, at every stage of the call", () =>
    Effect.gen(function* () {
      const { interruptCall, occupied } = yield* world({ lookUp: Effect.yieldNow })
      for (const computer of ["near", "far", "absent"]) {
        for (let yields = 0; yields < 12; yields += 1) {
          yield* interruptCall(computer, Effect.repeat(Effect.yieldNow, { times: yields }))
          assert.deepStrictEqual(occupied(), nothing, `${computer} after ${yields} yields`)
        }
      }
    })
  )
})
