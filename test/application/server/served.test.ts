import { assert, describe } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import { startNode } from "./clusterNode.ts"
import { effectWith } from "../../testWith.ts"

/** One Server of a cluster in memory, with an idle timeout of half a minute. */
const startServer = (cluster: MemoryCluster.MemoryCluster, name: string) =>
  startNode(cluster, name, {
    limits: { idleTimeout: Duration.seconds(30) },
    settings: { routingTimeout: Duration.hours(1), drainTimeout: Duration.seconds(10) }
  })

/** An Agent at one Server with a call in flight to a Computer at another, until `answer`. */
const world = Effect.gen(function* () {
  const cluster = MemoryCluster.makeCluster()
  const scope = yield* Scope.make()
  const agent = yield* (yield* startServer(cluster, "one")).agent("agent")
  const begun = yield* Deferred.make<void>()
  const gate = yield* Deferred.make<void>()
  const reply = Effect.andThen(Deferred.succeed(begun, undefined), Effect.as(Deferred.await(gate), answered))
  const two = yield* Scope.provide(startServer(cluster, "two"), scope)
  const computer = yield* two.computer("computer", { answer: () => reply })
  const calling = agent.request("client:get_tools", { agent: "agent", req_id: "r", computer: "computer" })
  const call = yield* Effect.forkChild(calling, { startImmediately: true })
  yield* Deferred.await(begun)
  const close = Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
  return { calling, call, close, computer, answer: Deferred.succeed(gate, undefined) }
})

const answered = { tools: [], req_id: "r" }

const test = effectWith(world)

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
    assert.deepInclude(Object(yield* Fiber.join(call)), { code: 404 })
  })
})
