import { assert, describe, it } from "@effect/vitest"
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

const audited = { type: "operator", subject: "olga", remote: "10.0.0.1" }

/** An office with a running call, and its id in a stream. */
const runningCall = Effect.gen(function* () {
  const server = yield* startWatched()
  const computer = yield* server.computer("pc", { answer: () => Effect.never })
  const agent = yield* server.agent()
  const call = yield* startCall(agent)
  const stream = yield* openStream(server)
  const cancelled = () => computer.received.filter(({ event }) => event === "notify:tool_call_cancel")
  return { ...server, agent, computer, call, stream, cancelled, id: stream.snapshot.calls[0]?.id ?? "" }
})

describe("Disconnect", () => {
  it.effect("closes the connection of a member, which leaves", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const agent = yield* server.agent()
      const stream = yield* openStream(server)
      assert.deepStrictEqual(yield* server.watch.execute({ _tag: "Disconnect", sid: agent.sid }, olga), {})
      yield* agent.closed
      yield* elapse()
      assert.deepStrictEqual(stream.events(), [{ _tag: "Left", sid: agent.sid, at: 0 }])
      assert.deepStrictEqual((yield* server.watch.open).snapshot.members, [])
    })
  )

  it.effect("closes the connection of a client in no office", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const client = yield* server.connect("agent")
      yield* server.watch.execute({ _tag: "Disconnect", sid: client.sid }, olga)
      yield* client.closed
    })
  )

  it.effect("fails with 404 for an unknown connection", () =>
    Effect.gen(function* () {
      const { watch } = yield* startWatched()
      assert.strictEqual((yield* Effect.flip(watch.execute({ _tag: "Disconnect", sid: "x" }, olga))).code, 404)
    })
  )

  it.effect("is audited, whether it succeeds or not", () =>
    Effect.gen(function* () {
      const { agent, operatorActions, watch } = yield* startWatched()
      const { sid } = yield* agent()
      yield* watch.execute({ _tag: "Disconnect", sid }, olga)
      yield* Effect.flip(watch.execute({ _tag: "Disconnect", sid }, olga))
      const target = { sid, line, office: "O", role: "agent", name: "ada" }
      assert.deepStrictEqual(yield* operatorActions, [
        { ...audited, command: "disconnect", ...target, outcome: "ok" },
        { ...audited, command: "disconnect", sid, outcome: "404" }
      ])
    })
  )
})

describe("Drain", () => {
  it.effect("makes the Server reject calls and joins, and shows the state of the node", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      yield* server.computer("pc", { answer: () => Effect.succeed(toolResult("")) })
      const agent = yield* server.agent()
      const stream = yield* openStream(server)
      assert.deepStrictEqual(yield* server.watch.execute({ _tag: "Drain", node }, olga), {})
      assert.deepInclude(yield* makeCall(agent), { code: 503 })
      const late = yield* server.connect("agent")
      const joined = yield* late.request("server:join_office", { role: "agent", name: "bob", office_id: "P" })
      assert.strictEqual(joined, false)
      yield* elapse("1 second")
      assert.deepInclude(stream.tagged("Node")[0]?.node, {
        state: "draining",
        reason: "an operator drains the Server"
      })
    })
  )

  it.effect("fails with 404 for another node", () =>
    Effect.gen(function* () {
      const { observability, watch } = yield* startWatched()
      assert.strictEqual((yield* Effect.flip(watch.execute({ _tag: "Drain", node: "other" }, olga))).code, 404)
      assert.strictEqual(observability.readiness.state()._tag, "Ready")
    })
  )

  it.effect("is audited", () =>
    Effect.gen(function* () {
      const { operatorActions, watch } = yield* startWatched()
      yield* watch.execute({ _tag: "Drain", node }, olga)
      assert.deepStrictEqual(yield* operatorActions, [{ ...audited, command: "drain", node, outcome: "ok" }])
    })
  )
})

describe("CancelCall", () => {
  it.effect("lets the Computer end the call, whose result the Agent gets", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const gate = yield* Deferred.make<void>()
      const computer = yield* server.computer("pc", { answer: () => Effect.as(Deferred.await(gate), toolCancelled()) })
      const agent = yield* server.agent()
      const stream = yield* openStream(server)
      const call = yield* startCall(agent)
      yield* elapse()
      const id = stream.tagged("Call")[0]?.call.id ?? ""
      assert.deepStrictEqual(yield* server.watch.execute({ _tag: "CancelCall", id }, olga), {})
      yield* settle
      assert.strictEqual(computer.received.at(-1)?.event, "notify:tool_call_cancel")
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(call), toolCancelled())
      yield* elapse()
      assert.strictEqual(stream.tagged("Call").at(-1)?.call.outcome, "cancelled")
    })
  )

  it.effect("names the Agent and the request to the Computer, and nothing to the Agent", () =>
    Effect.gen(function* () {
      const { agent, cancelled, id, watch } = yield* runningCall
      yield* watch.execute({ _tag: "CancelCall", id }, olga)
      yield* settle
      assert.deepStrictEqual(cancelled(), [{ event: "notify:tool_call_cancel", value: { agent: "ada", req_id: "r" } }])
      assert.isFalse(agent.received.some(({ event }) => event.includes("cancel")))
    })
  )

  it.effect("ends the call with 403 when the Computer does not react in time", () =>
    Effect.gen(function* () {
      const { call, id, stream, watch } = yield* runningCall
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
  )

  it.effect("ends another request than a tool call with 403 at once", () =>
    Effect.gen(function* () {
      const { agent, cancelled, watch } = yield* runningCall
      const request = { agent: "ada", req_id: "q", computer: "pc" }
      const listing = yield* Effect.forkChild(agent.request("client:get_tools", request), { startImmediately: true })
      yield* settle
      const calls = (yield* watch.open).snapshot.calls
      const { id = "" } = calls.find(({ reqId }) => reqId === "q") ?? {}
      yield* watch.execute({ _tag: "CancelCall", id }, olga)
      assert.deepInclude(yield* Fiber.join(listing), { code: 403 })
      assert.deepStrictEqual(cancelled(), [])
    })
  )

  it.effect("fails with 404 for a call that has ended", () =>
    Effect.gen(function* () {
      const { agent, id, watch } = yield* runningCall
      yield* agent.close
      assert.strictEqual((yield* Effect.flip(watch.execute({ _tag: "CancelCall", id }, olga))).code, 404)
    })
  )

  it.effect("is audited", () =>
    Effect.gen(function* () {
      const { id, operatorActions, watch } = yield* runningCall
      yield* watch.execute({ _tag: "CancelCall", id }, olga)
      yield* Effect.flip(watch.execute({ _tag: "CancelCall", id: "x" }, olga))
      const target = { call: id, line, office: "O", agent: "ada", computer: "pc", req_id: "r", tool: "fs:list" }
      assert.deepStrictEqual(yield* operatorActions, [
        { ...audited, command: "cancel_call", ...target, outcome: "ok" },
        { ...audited, command: "cancel_call", call: "x", outcome: "404" }
      ])
    })
  )
})

describe("Focus", () => {
  it.effect("succeeds for an open stream", () =>
    Effect.gen(function* () {
      const { watch } = yield* startWatched()
      const { snapshot } = yield* watch.open
      const focus = { _tag: "Focus", stream: snapshot.stream, line, office: "O" } as const
      assert.deepStrictEqual(yield* watch.execute(focus, olga), {})
    })
  )

  it.effect("fails with 404 for an unknown stream", () =>
    Effect.gen(function* () {
      const { watch } = yield* startWatched()
      const focus = { _tag: "Focus", stream: "x", line, office: "O" } as const
      assert.strictEqual((yield* Effect.flip(watch.execute(focus, olga))).code, 404)
    })
  )
})
