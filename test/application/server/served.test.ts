import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Exit, Fiber, Layer, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryTransport from "../../../src/adapters/memory/MemoryTransport.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import { type Reply, TransportClient } from "../../../src/application/ports/Transport.ts"
import { Limits } from "../../../src/application/server/connections/Limits.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { ServerSettings } from "../../../src/application/server/lifecycle/ServerContext.ts"
import { PROTOCOL_VERSION } from "../../../src/domain/wire/lines.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { Observability } from "../../../src/application/server/observability/Observability.ts"
import { testWith } from "../testWith.ts"

const settings = { routingTimeout: Duration.hours(1), drainTimeout: Duration.seconds(10) }

/** One Server of a cluster in memory, with an idle timeout of half a minute. */
const startServer = (cluster: MemoryCluster.MemoryCluster, idPrefix: string) =>
  Effect.map(
    Server.layer.pipe(
      Layer.provideMerge(MemoryTransport.layer({ idPrefix })),
      Layer.provide(MemoryCluster.layerNode(cluster, idPrefix)),
      Layer.provide(Layer.succeed(Limits, { ...Limits.defaultValue(), idleTimeout: Duration.seconds(30) })),
      Layer.provide(Layer.succeed(ServerSettings, { ...ServerSettings.defaultValue(), ...settings })),
      Layer.provide([Authenticator.layerAllowAll, Observability.layerNone]),
      Layer.fresh,
      Layer.build
    ),
    (context) => Context.get(context, TransportClient)
  )

const member = Effect.fnUntraced(function* (
  transport: TransportClient["Service"],
  role: "agent" | "computer",
  answer: Effect.Effect<Reply> = Effect.succeed([])
) {
  const link = yield* transport.connect({
    version: PROTOCOL_VERSION,
    auth: { role },
    onMessage: (event) => (event.startsWith("client:") ? answer : Effect.succeed([]))
  })
  const request = (event: string, body: object) =>
    Effect.map(link.request(event, jsonBody(body), Duration.hours(1)), ([first]) =>
      first === undefined ? undefined : Result.getOrElse(first.value(), () => "?")
    )
  yield* request("server:join_office", { role, name: role, office_id: "O" })
  return { request, closed: link.closed }
})

/** An Agent at one Server with a call in flight to a Computer at another, until `answer`. */
const world = Effect.gen(function* () {
  const cluster = MemoryCluster.makeCluster()
  const scope = yield* Scope.make()
  const agent = yield* member(yield* startServer(cluster, "one"), "agent")
  const begun = yield* Deferred.make<void>()
  const gate = yield* Deferred.make<void>()
  const answer = Effect.as(Deferred.await(gate), [jsonBody({ tools: [], req_id: "r" })])
  const two = yield* Scope.provide(startServer(cluster, "two"), scope)
  const computer = yield* member(two, "computer", Effect.andThen(Deferred.succeed(begun, undefined), answer))
  const calling = agent.request("client:get_tools", { agent: "agent", req_id: "r", computer: "computer" })
  const call = yield* Effect.forkChild(calling, { startImmediately: true })
  yield* Deferred.await(begun)
  const close = Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
  return { calling, call, close, computer, answer: Deferred.succeed(gate, undefined) }
})

const answered = { tools: [], req_id: "r" }

const test = testWith(world)

describe("a Server whose Computer serves an Agent of another Server", () => {
  test("keeps the Computer's connection open beyond the idle timeout", function* ({ answer, call, computer }) {
    yield* TestClock.adjust("50 seconds")
    yield* answer
    assert.deepStrictEqual(yield* Fiber.join(call), answered)
    assert.isUndefined((yield* Effect.forkChild(computer.closed, { startImmediately: true })).pollUnsafe())
  })

  test("waits for the reply during its graceful shutdown, and rejects other calls", function* ({
    answer,
    call,
    calling,
    close
  }) {
    const closing = yield* close
    yield* TestClock.adjust("5 seconds")
    assert.isUndefined(closing.pollUnsafe())
    assert.deepStrictEqual(yield* calling, { code: 503, message: "The Server is shutting down, try again" })
    yield* answer
    assert.deepStrictEqual(yield* Fiber.join(call), answered)
    yield* TestClock.adjust("20 millis")
    yield* Fiber.join(closing)
  })

  test("aborts the call after the drain timeout, and the Agent gets a 404", function* ({ call, close }) {
    const closing = yield* close
    yield* TestClock.adjust("10 seconds")
    yield* Fiber.join(closing)
    assert.deepInclude(yield* Fiber.join(call), { code: 404 })
  })
})
