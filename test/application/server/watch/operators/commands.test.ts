import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { cancelGrace } from "../../../../../src/application/server/watch/commands.ts"
import { toolCancelled } from "../../../../../src/domain/tools/errorResults.ts"
import { settle } from "../../../../settle.ts"
import {
  elapse,
  line,
  makeCall,
  node,
  olga,
  openStream,
  startCall,
  startWatched,
  toolResult
} from "../watchedServer.ts"
import { effectWith } from "../../../../testWith.ts"
import { partsOf } from "../../../../page/scripted/snapshotParts.ts"

/** An office with a running call, and its id in a stream. */
const runningCall = Effect.gen(function* () {
  const server = yield* startWatched()
  const computer = yield* server.computer("pc", { answer: () => Effect.never })
  const agent = yield* server.agent()
  const call = yield* startCall(agent)
  const stream = yield* openStream(server)
  const cancelled = () => computer.received.filter(({ event }) => event === "notify:tool_call_cancel")
  return { ...server, agent, computer, call, stream, cancelled, id: partsOf(stream.snapshot).calls[0]?.id ?? "" }
})

describe("Disconnect", () => {
  const test = effectWith(startWatched())

  test("closes the connection of a member, which leaves", function* (server) {
    const agent = yield* server.agent()
    const stream = yield* openStream(server)
    yield* server.watch.execute({ _tag: "Disconnect", sid: agent.sid }, olga)
    yield* agent.closed
    yield* elapse()
    assert.deepStrictEqual(stream.events(), [{ _tag: "Left", sid: agent.sid, at: 0 }])
    assert.deepStrictEqual(partsOf((yield* server.watch.open).snapshot).members, [])
  })

  test("closes the connection of a client in no office", function* (server) {
    const client = yield* server.connect("agent")
    yield* server.watch.execute({ _tag: "Disconnect", sid: client.sid }, olga)
    yield* client.closed
  })
})

describe("Drain", () => {
  const test = effectWith(startWatched())

  test("makes the Server reject calls and joins, and shows the state of the node", function* (server) {
    yield* server.computer("pc", { answer: () => Effect.succeed(toolResult("")) })
    const agent = yield* server.agent()
    const stream = yield* openStream(server)
    yield* server.watch.execute({ _tag: "Drain", node }, olga)
    assert.deepInclude(yield* makeCall(agent), { code: 503 })
    const late = yield* server.connect("agent")
    const joined = yield* late.request("server:join_office", { role: "agent", name: "bob", office_id: "P" })
    assert.strictEqual(joined, false)
    yield* elapse("1 second")
    const state = { state: "draining", reason: "an operator drains the Server" } as const
    assert.deepInclude(stream.tagged("Node")[0]?.node, state)
  })
})

describe("CancelCall", () => {
  const test = effectWith(runningCall)

  effectWith(startWatched())("lets the Computer end the call, whose result the Agent gets", function* (server) {
    const gate = yield* Deferred.make<void>()
    const computer = yield* server.computer("pc", { answer: () => Effect.as(Deferred.await(gate), toolCancelled()) })
    const agent = yield* server.agent()
    const stream = yield* openStream(server)
    const call = yield* startCall(agent)
    yield* elapse()
    const id = stream.tagged("Call")[0]?.call.id ?? ""
    yield* server.watch.execute({ _tag: "CancelCall", id }, olga)
    yield* settle
    assert.strictEqual(computer.received.at(-1)?.event, "notify:tool_call_cancel")
    yield* Deferred.succeed(gate, undefined)
    assert.deepStrictEqual(yield* Fiber.join(call), toolCancelled())
    yield* elapse()
    assert.strictEqual(stream.tagged("Call").at(-1)?.call.outcome, "cancelled")
  })

  test("ends the call with 403 when the Computer does not react in time", function* ({ call, id, stream, watch }) {
    yield* watch.execute({ _tag: "CancelCall", id }, olga)
    yield* TestClock.adjust("4900 millis")
    assert.isUndefined(call.pollUnsafe())
    yield* TestClock.adjust(cancelGrace)
    assert.deepInclude(yield* Fiber.join(call), { code: 403, message: "An operator cancelled the call" })
    assert.deepStrictEqual(
      stream.tagged("Call").map((event) => event.call.outcome),
      ["403"]
    )
  })

  test("ends another request than a tool call with 403 at once", function* ({ agent, cancelled, watch }) {
    const request = { agent: "ada", req_id: "q", computer: "pc" }
    const listing = yield* Effect.forkChild(agent.request("client:get_tools", request), { startImmediately: true })
    yield* settle
    const calls = partsOf((yield* watch.open).snapshot).calls
    const { id = "" } = calls.find(({ reqId }) => reqId === "q") ?? {}
    yield* watch.execute({ _tag: "CancelCall", id }, olga)
    assert.deepInclude(yield* Fiber.join(listing), { code: 403 })
    assert.deepStrictEqual(cancelled(), [])
  })

  test("fails with 404 for a call that has ended", function* ({ agent, id, watch }) {
    yield* agent.close
    assert.strictEqual((yield* Effect.flip(watch.execute({ _tag: "CancelCall", id }, olga))).code, 404)
  })
})

describe("Focus", () => {
  effectWith(startWatched())("succeeds for an open stream", function* ({ watch }) {
    const { snapshot } = yield* watch.open
    const focus = { _tag: "Focus", stream: snapshot.stream, line, office: "O" } as const
    assert.deepStrictEqual(yield* watch.execute(focus, olga), {})
  })
})
