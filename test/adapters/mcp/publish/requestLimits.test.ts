import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { asObject } from "../../../../src/domain/json.ts"
import { resource, textResult, tool } from "../../../conformance/members.ts"
import { hostKinds } from "./hosts.ts"

/** The most requests in progress of all clients, and requests of one client to listen. */
const max = { requests: 1024, listens: 64 }

const overStdio = hostKinds.filter(([name]) => name.endsWith("stdio"))

describe("a request of a client of a published session", () => {
  it.effect.each(overStdio)(`is one of ${max.requests} at once: %s`, ([, , open]) =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const wait = tool("wait", () => Effect.as(Deferred.await(gate), textResult("done")))
      const { connect } = yield* makeMemoryMcpServer({ tools: [wait] })
      const { request } = yield* open(yield* connect)
      const call = request("tools/call", { name: "wait", arguments: {} })
      const calls = yield* Effect.forEach(Array.from({ length: max.requests }), () =>
        Effect.forkChild(call, { startImmediately: true })
      )
      const { code, message } = asObject((yield* call)["error"])
      assert.deepStrictEqual([code, message], [-32_603, "Too many requests in flight; try again later"])
      yield* Deferred.succeed(gate, undefined)
      const results = yield* Effect.forEach(calls, Fiber.join)
      assert.lengthOf(
        results.filter(({ result }) => result !== undefined),
        max.requests
      )
      assert.property(yield* call, "result")
    })
  )
})

describe("a request of a client to listen, over stdio", () => {
  it.effect(`is one of ${max.listens} at once, and makes room at its end`, () =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ resources: [resource("a:1")] })
      const [, , open] = hostKinds.find(([name]) => name === "2026-07-28 over stdio") ?? assert.fail("no host")
      const { request } = yield* open(yield* memory.connect)
      const listen = (at: number) =>
        request("subscriptions/listen", { notifications: { resourceSubscriptions: [`a:${at}`] } })
      const start = (at: number) => Effect.forkChild(listen(at), { startImmediately: true })
      const watches = (at: number, isWatched: boolean) =>
        Effect.repeat(
          Effect.promise(() => setImmediate()),
          {
            until: () => memory.subscriptions().includes(`a:${at}`) === isWatched
          }
        )
      const [first] = yield* Effect.forEach(Array.from({ length: max.listens }).keys(), start)
      yield* watches(max.listens - 1, true)
      const { code, message } = asObject((yield* listen(max.listens))["error"])
      assert.deepStrictEqual(
        [code, message],
        [-32_603, `more than ${max.listens} concurrent subscriptions/listen requests`]
      )
      assert.lengthOf(memory.subscriptions(), max.listens)
      yield* Fiber.interrupt(first ?? assert.fail("no request"))
      yield* watches(0, false)
      yield* start(max.listens)
      yield* watches(max.listens, true)
    })
  )
})
