import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Result, Scope } from "effect"
import * as MemoryCluster from "../../../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryTransport from "../../../../src/adapters/memory/MemoryTransport.ts"
import { Authenticator } from "../../../../src/application/ports/Authenticator.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { OfficeRegistry } from "../../../../src/application/ports/OfficeRegistry.ts"
import { type Reply, TransportClient } from "../../../../src/application/ports/Transport.ts"
import { Limits } from "../../../../src/application/server/connections/Limits.ts"
import { Readiness } from "../../../../src/application/server/lifecycle/Readiness.ts"
import { Server } from "../../../../src/application/server/lifecycle/Server.ts"
import { ServerMetrics } from "../../../../src/application/server/observability/ServerMetrics.ts"
import { PROTOCOL_VERSION } from "../../../../src/domain/wire/lines.ts"
import { recordGauges } from "../../../recordGauges.ts"
import { settle } from "../../../settle.ts"

const hour = Duration.hours(1)

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

/** A Server of a cluster in memory. */
const startServer = Effect.fnUntraced(function* (
  cluster: MemoryCluster.MemoryCluster,
  idPrefix: string,
  { disconnect = Effect.void, lookUp = Effect.void }: RegistryDelays = {}
) {
  const gauges = recordGauges()
  const slowRegistry = Layer.effect(
    OfficeRegistry,
    Effect.map(OfficeRegistry, (registry) => ({
      ...registry,
      isComputerElsewhere: (...query: Parameters<typeof registry.isComputerElsewhere>) =>
        Effect.andThen(lookUp, registry.isComputerElsewhere(...query)),
      disconnect: (...session: Parameters<typeof registry.disconnect>) =>
        Effect.andThen(disconnect, registry.disconnect(...session))
    }))
  )
  const context = yield* Server.layer.pipe(
    Layer.provideMerge(MemoryTransport.layer({ idPrefix })),
    Layer.provide(Layer.provideMerge(slowRegistry, MemoryCluster.layerNode(cluster, idPrefix))),
    Layer.provide(Layer.succeed(Limits, { ...Limits.defaultValue(), callsPerAgent: 1, callsPerComputer: 1 })),
    Layer.provide(Layer.succeed(ServerMetrics, gauges.metrics)),
    Layer.provide([Authenticator.layerAllowAll, Readiness.layer]),
    Layer.fresh,
    Layer.build
  )
  const occupied = () => counts.map((name) => gauges.read(name))
  return { transport: Context.get(context, TransportClient), occupied }
})

type Transport = TransportClient["Service"]

/** A member of the office. */
const join = Effect.fnUntraced(function* (
  transport: Transport,
  role: "agent" | "computer",
  name: string,
  answer: Effect.Effect<Reply> = Effect.succeed([])
) {
  const link = yield* transport.connect({
    version: PROTOCOL_VERSION,
    auth: { role },
    onMessage: (event) => (event.startsWith("client:") ? answer : Effect.succeed([]))
  })
  const request = (event: string, body: object) =>
    Effect.map(link.request(event, jsonBody(body), hour), ([first]) =>
      first === undefined ? undefined : Result.getOrElse(first.value(), () => "?")
    )
  yield* request("server:join_office", { role, name, office_id: "O" })
  return (computer: string) => request("client:get_tools", { agent: name, req_id: "r", computer })
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
  yield* join(one.transport, "computer", "near", never)
  yield* join(two.transport, "computer", "far", never)
  /** Lets an Agent of the first Server make a call, and disconnects it after the effect `until`. */
  const interruptCall = Effect.fnUntraced(function* (computer: string, until: Effect.Effect<unknown>) {
    const scope = yield* Scope.make()
    const call = yield* Scope.provide(join(one.transport, "agent", "agent"), scope)
    yield* Effect.forkIn(Effect.ignore(call(computer)), scope)
    yield* until
    const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
    yield* settle
    return closing
  })
  return { one, two, interruptCall, reached: () => reached }
})

/** Waits until a condition holds, without virtual time. */
const until = (what: () => boolean) => Effect.repeat(Effect.yieldNow, { until: what })

describe("a call whose Agent disconnects", () => {
  for (const [computer, where] of [
    ["near", "of the same Server"],
    ["far", "of another Server"]
  ] as const) {
    it.effect(`makes room for the next call to the Computer ${where}`, () =>
      Effect.gen(function* () {
        const { interruptCall, one, reached, two } = yield* world()
        for (const attempt of [1, 2, 3]) {
          yield* interruptCall(
            computer,
            until(() => reached() === attempt)
          )
          assert.deepStrictEqual([one.occupied(), two.occupied()], [counts.map(() => 0), counts.map(() => 0)])
        }
      })
    )
  }

  it.effect("is not counted any more, though the registry does not know of the disconnect", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { interruptCall, one, reached, two } = yield* world({ disconnect: Deferred.await(gate) })
      const closing = yield* interruptCall(
        "far",
        until(() => reached() === 1)
      )
      assert.isUndefined(closing.pollUnsafe())
      assert.deepStrictEqual([one.occupied(), two.occupied()], [counts.map(() => 0), counts.map(() => 0)])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
    })
  )

  it.effect("is not counted any more while the registry searches for its Computer", () =>
    Effect.gen(function* () {
      const searching = yield* Deferred.make<void>()
      const lookUp = Effect.andThen(Deferred.succeed(searching, undefined), Effect.never)
      const { interruptCall, one } = yield* world({ lookUp })
      yield* interruptCall("absent", Deferred.await(searching))
      assert.deepStrictEqual(
        one.occupied(),
        counts.map(() => 0)
      )
    })
  )

  it.effect("is not counted any more, at every stage of the call", () =>
    Effect.gen(function* () {
      const { interruptCall, one, two } = yield* world({ lookUp: Effect.yieldNow })
      for (const computer of ["near", "far", "absent"]) {
        for (let yields = 0; yields < 12; yields += 1) {
          yield* interruptCall(computer, Effect.repeat(Effect.yieldNow, { times: yields }))
          assert.deepStrictEqual(
            [one.occupied(), two.occupied()],
            [counts.map(() => 0), counts.map(() => 0)],
            `${computer} after ${yields} yields`
          )
        }
      }
    })
  )
})
