import { assert, describe } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber } from "effect"
import {
  agent,
  agentAndComputer,
  agentIn,
  assertRejected,
  bodiesOf,
  computerIn,
  malformed,
  settled
} from "./joinedMembers.ts"
import { conform, type Peer, type World } from "./World.ts"

/** Every routed event of the catalogue with a valid payload (suite §7). */
const routed: ReadonlyArray<{ readonly event: string; readonly more: object }> = [
  { event: "client:tool_call", more: { tool_name: "t", params: { deep: [{ x: null }] }, timeout: 5 } },
  { event: "client:get_tools", more: {} },
  { event: "client:get_config", more: {} },
  { event: "client:get_desktop", more: { desktop_size: 3, window: "window://h" } },
  { event: "client:get_dpe", more: { uri: "dpe://h/d", timeout: 5 } },
  { event: "client:get_resources", more: { mcp_server: "alpha", cursor: null } },
  { event: "client:get_finder", more: { keywords: ["k"], file_type: "pdf", offset: 0, limit: 5 } }
]
const oneSecond = Duration.seconds(1)
const zero = Duration.zero
const base = { agent: "agent-1", req_id: "r1", computer: "pc-1" }
const reply = { content: [{ type: "text", text: "ok" }], isError: false, more: { x: [1] } }
const replies = (peer: Peer, value: unknown = reply) => peer.answers(() => Effect.succeed([value]))
/** A request of an Agent that its Computer has received, and does not answer. */
const pendingRequest = Effect.fnUntraced(function* (world: World, event: string, payload: object) {
  const { a1, c1 } = yield* agentAndComputer(world)
  yield* c1.answers(() => Effect.never)
  const asking = yield* Effect.forkChild(a1.request(event, payload))
  yield* c1.receive(event)
  return { a1, asking, c1 }
})
const requestsAt = (peer: Peer) => peer.received().filter(({ event }) => event.startsWith("client:"))

for (const { event, more } of routed) {
  const payload = { ...base, ...more }

  describe(event, () => {
    conform("cases 099, 120: passes request and reply unchanged", (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world, reply)
        assert.deepStrictEqual(yield* a1.request(event, { ...payload, unknown: { kept: true } }), [reply])
        assert.deepStrictEqual(requestsAt(c1), [{ event, body: { ...payload, unknown: { kept: true } } }])
      })
    )

    conform("cases 100, 106: reaches only the named Computer of the office", (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world)
        const c2 = yield* computerIn(world, "O1", "pc-2")
        const twin = yield* computerIn(world, "O2", "pc-2")
        yield* replies(c2, { from: "here" })
        assert.deepStrictEqual(yield* a1.request(event, { ...payload, computer: "pc-2" }), [{ from: "here" }])
        yield* settled([c1, twin])
        assert.deepStrictEqual([requestsAt(c1), requestsAt(twin)], [[], []])
      })
    )

    conform("cases 101, 102, 105: requires a Computer of the office as target", (world) =>
      Effect.gen(function* () {
        const a1 = yield* agentIn(world, "O1")
        const c1 = yield* computerIn(world, "O2")
        assertRejected(yield* a1.request(event, payload), 4104)
        assertRejected(yield* a1.request(event, { ...payload, computer: "ghost" }), 404)
        assertRejected(yield* a1.request(event, { ...payload, computer: "agent-1" }), 404)
        yield* settled([c1])
        assert.deepStrictEqual(requestsAt(c1), [])
      })
    )

    conform("cases 103, 104: requires an Agent in an office", (world) =>
      Effect.gen(function* () {
        const c1 = yield* computerIn(world, "O1")
        const c2 = yield* computerIn(world, "O1", "pc-2")
        assertRejected(yield* (yield* agent(world)).request(event, payload), 4103)
        assertRejected(yield* c1.request(event, { ...payload, computer: "pc-2" }), 403)
        yield* settled([c1, c2])
        assert.deepStrictEqual([requestsAt(c1), requestsAt(c2)], [[], []])
      })
    )

    conform("rejects a request in the name of another member", (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world, reply)
        for (const name of ["agent-2", "pc-1", "Agent-1", "agent-1 ", "agent-1\n"]) {
          assertRejected(yield* a1.request(event, { ...payload, agent: name }), 403)
        }
        yield* settled([c1])
        assert.deepStrictEqual(requestsAt(c1), [])
        assert.deepStrictEqual(yield* a1.request(event, payload), [reply])
      })
    )

    conform("cases 107, 108, 109: rejects an invalid request", (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world, reply)
        const bad = [
          ...malformed,
          ...Object.keys(base).map((key) => [
            Object.fromEntries(Object.entries(payload).filter(([name]) => name !== key))
          ]),
          ...[{ agent: 1 }, { req_id: {} }, { computer: null }].map((change) => [{ ...payload, ...change }])
        ]
        for (const given of bad) assertRejected(yield* a1.request(event, ...given), 400)
        yield* settled([c1])
        assert.deepStrictEqual(requestsAt(c1), [])
        assert.deepStrictEqual(yield* a1.request(event, payload), [reply])
      })
    )

    conform("case 110: matches replies to requests in any order", (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world)
        const gates = Array.from({ length: 20 }, () => Deferred.makeUnsafe<void>())
        const all = yield* Deferred.make<void>()
        let arrived = 0
        yield* c1.answers((_, body) => {
          const { req_id } = body as typeof base
          if (++arrived === gates.length) Deferred.doneUnsafe(all, Effect.void)
          return Effect.as(Deferred.await(gates[Number(req_id)] ?? all), [{ req_id }])
        })
        const asking = yield* Effect.forEach(gates, (_, index) =>
          Effect.forkChild(a1.request(event, { ...payload, req_id: String(index) }))
        )
        yield* Deferred.await(all)
        for (const gate of gates.toReversed()) yield* Deferred.succeed(gate, undefined)
        const answers = yield* Fiber.joinAll(asking)
        assert.deepStrictEqual(
          answers.map(([answer]) => answer),
          gates.map((_, index) => ({ req_id: String(index) }))
        )
      })
    )

    conform("cases 111, 112: passes an error of the Computer, and rejects a reply that is not an object", (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world)
        const error = { code: 4013, message: "x", uri: "u" }
        yield* replies(c1, error)
        assert.deepStrictEqual(yield* a1.request(event, payload), [error])
        for (const value of ["text", null, 7, [1]]) {
          yield* replies(c1, value)
          assertRejected(yield* a1.request(event, payload), 500)
        }
        yield* c1.answers(() => Effect.succeed([]))
        assertRejected(yield* a1.request(event, payload), 500)
      })
    )

    conform("case 113: fails requests at once when their Computer disconnects", (world) =>
      Effect.gen(function* () {
        const { asking, c1 } = yield* pendingRequest(world, event, payload)
        yield* c1.close
        assertRejected(yield* Fiber.join(asking), 404)
        assert.strictEqual(world.server.load().calls, 0)
      })
    )

    conform("fails requests at once when their Computer leaves", (world) =>
      Effect.gen(function* () {
        const { asking, c1 } = yield* pendingRequest(world, event, payload)
        yield* c1.request("server:leave_office", { office_id: "O1" })
        assertRejected(yield* Fiber.join(asking), 404)
      })
    )

    conform(
      "cases 114, 122: fails a request without a reply at its deadline",
      (world) =>
        Effect.gen(function* () {
          const { a1, c1 } = yield* agentAndComputer(world)
          yield* c1.answers(() => Effect.never)
          const began = performance.now()
          const limited = "timeout" in payload ? { ...payload, timeout: 1 } : payload
          const asking = yield* Effect.forkChild(a1.request(event, limited))
          yield* c1.receive(event)
          yield* world.elapse("999 millis")
          assert.isUndefined(asking.pollUnsafe())
          yield* world.elapse("1 millis")
          assertRejected(yield* Fiber.join(asking), 408)
          if (world.transport !== "memory") assert.isAtLeast(performance.now() - began, 990)
          assert.strictEqual(world.server.load().calls, 0)
        }),
      { routingTimeout: oneSecond, timeoutGrace: zero }
    )

    conform("case 115: removes all state of a disconnected Agent", (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world)
        const c2 = yield* computerIn(world, "O1", "pc-2")
        const gate = yield* Deferred.make<void>()
        yield* c1.answers(() => Effect.as(Deferred.await(gate), [reply]))
        const asking = yield* Effect.forkChild(Effect.exit(a1.request(event, payload)))
        yield* c1.receive(event)
        yield* a1.close
        yield* c2.receive("notify:leave_office")
        yield* Deferred.succeed(gate, undefined)
        yield* settled([c1, c2])
        assert.strictEqual(world.server.load().calls, 0)
        const cancels = event === "client:tool_call" ? [{ agent: "agent-1", req_id: "r1" }] : []
        assert.deepStrictEqual(bodiesOf(c1, "notify:tool_call_cancel"), cancels)
        assert.deepStrictEqual(bodiesOf(c2, "notify:tool_call_cancel"), [])
        yield* Fiber.interrupt(asking)
        const next = yield* agentIn(world, "O1", "agent-2")
        yield* replies(c1)
        assert.deepStrictEqual(yield* next.request(event, { ...payload, agent: "agent-2" }), [reply])
      })
    )

    conform("case 118: routes a request without an acknowledgement", (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world, reply)
        yield* a1.notify(event, payload)
        assert.deepStrictEqual(yield* c1.receive(event), payload)
        assert.deepStrictEqual(yield* a1.request(event, payload), [reply])
      })
    )

    conform("case 119: rejects a request to a Computer that left", (world) =>
      Effect.gen(function* () {
        const { a1, c1 } = yield* agentAndComputer(world)
        yield* c1.request("server:leave_office", { office_id: "O1" })
        assertRejected(yield* a1.request(event, payload), 404, 4104)
      })
    )
  })
}

describe("client:*", () => {
  conform("case 117: routes an unknown request", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world, reply)
      assert.deepStrictEqual(yield* a1.request("client:foo", { ...base, more: [1] }), [reply])
      assert.deepStrictEqual(yield* c1.receive("client:foo"), { ...base, more: [1] })
      assertRejected(yield* a1.request("client:foo", { agent: "agent-1", req_id: "r1" }), 400)
    })
  )

  conform("rejects every request in the name of another member, known or not", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world, reply)
      for (const event of ["client:foo", "client:list_finder"]) {
        assertRejected(yield* a1.request(event, { ...base, agent: "root" }), 403)
      }
      yield* settled([c1])
      assert.deepStrictEqual(requestsAt(c1), [])
    })
  )

  conform("case 335: routes the Finder under both names", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world, reply)
      assert.deepStrictEqual(yield* a1.request("client:list_finder", { ...base, tags: ["k"] }), [reply])
      assert.deepStrictEqual(yield* c1.receive("client:list_finder"), { ...base, tags: ["k"] })
    })
  )

  conform("replies to an unknown event with an error", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      for (const event of ["server:nope", "notify:enter_office", "whatever"]) {
        assertRejected(yield* a1.request(event, base), 404)
      }
    })
  )
})

describe("client:tool_call", () => {
  const good = { ...base, tool_name: "t", params: {}, timeout: 5 }

  conform("case 121: waits longer than the timeout of the call", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world)
      const late = yield* Deferred.make<void>()
      yield* c1.answers(() => Effect.as(Deferred.await(late), [reply]))
      const asking = yield* Effect.forkChild(a1.request("client:tool_call", { ...good, timeout: 2 }))
      yield* c1.receive("client:tool_call")
      yield* world.elapse("3 seconds")
      yield* Deferred.succeed(late, undefined)
      assert.deepStrictEqual(yield* Fiber.join(asking), [reply])
    })
  )

  conform("cases 123, 124, 125: checks every field", (world) =>
    Effect.gen(function* () {
      const { a1, c1 } = yield* agentAndComputer(world, reply)
      const changes = [
        ...["5", 1.5, 0, -1, 3601, null, 1e30].map((timeout) => ({ timeout })),
        ...[[], "x", null].map((params) => ({ params })),
        { tool_name: 7 }
      ]
      const missing = ["tool_name", "params", "timeout"].map((key) =>
        Object.fromEntries(Object.entries(good).filter(([name]) => name !== key))
      )
      for (const bad of [...missing, ...changes.map((change) => ({ ...good, ...change }))]) {
        assertRejected(yield* a1.request("client:tool_call", bad), 400)
      }
      yield* settled([c1])
      assert.deepStrictEqual(requestsAt(c1), [])
    })
  )

  conform(
    "cancels a timed-out call at its Computer",
    (world) =>
      Effect.gen(function* () {
        const { asking, c1 } = yield* pendingRequest(world, "client:tool_call", { ...good, timeout: 1 })
        yield* world.elapse("1 second")
        assertRejected(yield* Fiber.join(asking), 408)
        assert.deepStrictEqual(yield* c1.receive("notify:tool_call_cancel"), { agent: "agent-1", req_id: "r1" })
      }),
    { timeoutGrace: zero }
  )

  conform("cancels the calls of an Agent that leaves", (world) =>
    Effect.gen(function* () {
      const { a1, asking, c1 } = yield* pendingRequest(world, "client:tool_call", good)
      yield* a1.request("server:leave_office", { office_id: "O1" })
      assertRejected(yield* Fiber.join(asking), 4103)
      assert.deepStrictEqual(yield* c1.receive("notify:tool_call_cancel"), { agent: "agent-1", req_id: "r1" })
      yield* settled([c1])
      const last = c1.received().slice(-2)
      assert.deepStrictEqual(
        last.map(({ event }) => event),
        ["notify:tool_call_cancel", "notify:leave_office"]
      )
    })
  )
})
