import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { asObject } from "../../../../../src/domain/json.ts"
import type { PageCallMessage } from "../../../../../src/domain/page/PageCommand.ts"
import {
  elapse,
  line,
  node,
  olga,
  openStream,
  operatorOf,
  startCall,
  startWatched,
  toolResult
} from "../watchedServer.ts"

const request = { line, office: "O", computer: "pc", tool: "fs:list", params: {}, timeout: 60 }

const allowing = { a2c_features: ["operator_calls"] }

const started: PageCallMessage = { _tag: "Started", as: "operator", name: "operator:olga" }

/** An office with an Agent, and a Computer that lets operators call. */
const officeWith = Effect.fnUntraced(function* (answer: Effect.Effect<unknown>, auth = allowing) {
  const server = yield* startWatched()
  const pc = yield* server.computer("pc", { auth, answer: () => answer })
  const agent = yield* server.agent("ada", { auth: { a2c_features: ["call_status"] } })
  const stream = yield* openStream(server)
  const scope = yield* Scope.make()
  const messages: Array<PageCallMessage> = []
  const call = Effect.gen(function* () {
    const replies = yield* server.watch.call(request, olga)
    yield* Stream.runForEach(replies, (message) => Effect.sync(() => void messages.push(message)))
  }).pipe(Scope.provide(scope))
  return { server, pc, agent, stream, messages, call, close: Scope.close(scope, Exit.void) }
})

describe("a call of an operator beside the Agent", () => {
  it.effect("ends with the result", () =>
    Effect.gen(function* () {
      const { call, messages } = yield* officeWith(Effect.succeed(toolResult("done")))
      yield* call
      assert.deepStrictEqual(messages, [started, { _tag: "Result", result: toolResult("done") }])
    })
  )

  it.effect("names the operator to the Computer", () =>
    Effect.gen(function* () {
      const { call, pc } = yield* officeWith(Effect.succeed(toolResult("done")))
      yield* call
      const received = pc.received.find(({ event }) => event === "client:tool_call")
      assert.deepInclude(received?.value, { agent: "operator:olga", tool_name: "fs:list" })
    })
  )

  it.effect("names each operator of calls at once", () =>
    Effect.gen(function* () {
      const { call, pc, server } = yield* officeWith(Effect.never)
      yield* Effect.forkScoped(call, { startImmediately: true })
      yield* elapse()
      const replies = yield* server.watch.call(request, operatorOf("otto"))
      yield* Effect.forkScoped(Stream.runDrain(replies), { startImmediately: true })
      yield* elapse()
      const callers = pc.received.flatMap(({ event, value }) =>
        event === "client:tool_call" ? [asObject(value)["agent"]] : []
      )
      assert.deepStrictEqual(callers, ["operator:olga", "operator:otto"])
    })
  )

  it.effect("changes no membership", () =>
    Effect.gen(function* () {
      const { call, stream } = yield* officeWith(Effect.succeed(toolResult("done")))
      yield* call
      yield* elapse()
      assert.deepStrictEqual([stream.tagged("Entered"), stream.tagged("Left")], [[], []])
    })
  )

  it.effect("appears in streams under the name of the operator", () =>
    Effect.gen(function* () {
      const { call, stream } = yield* officeWith(Effect.succeed(toolResult("done")))
      yield* call
      yield* elapse()
      const shown = stream.tagged("Call").at(-1)?.call
      assert.deepInclude(shown, { node, office: "O", agent: "operator:olga", subject: "olga", outcome: "ok" })
    })
  )

  it.effect("gets its own status, which the Agent does not get", () =>
    Effect.gen(function* () {
      const { agent, call, messages, pc } = yield* officeWith(Effect.never)
      yield* Effect.forkScoped(call, { startImmediately: true })
      yield* elapse()
      const received = pc.received.find(({ event }) => event === "client:tool_call")
      const reqId: unknown = Object(received?.value)["req_id"]
      yield* pc.notify("server:update_tool_call", { computer: "pc", req_id: reqId, status: "waiting_for_consent" })
      yield* elapse()
      const notified = agent.received.map(({ event }) => event)
      assert.deepStrictEqual(messages, [
        started,
        { _tag: "Status", status: { _tag: "WaitingForConsent", computer: "pc" } }
      ])
      assert.notInclude(notified, "notify:update_tool_call")
    })
  )

  const waiting = { computer: "pc", status: "waiting_for_consent" }
  const shown = { _tag: "Status", status: { _tag: "WaitingForConsent", computer: "pc" } }

  it.effect.each([
    ["the Agent", { agent: "ada" }, [started], 1],
    ["the operator", { agent: "operator:olga" }, [started, shown], 0],
    ["another operator", { agent: "operator:ann" }, [started], 0],
    // Computers of earlier versions: better no status than one of another call.
    ["no caller", {}, [started], 0]
  ] as const)("shares no status with a call of the Agent of the same id: of %s", ([, named, seen, notified]) =>
    Effect.gen(function* () {
      const { agent, call, messages, pc } = yield* officeWith(Effect.never)
      yield* Effect.forkScoped(call, { startImmediately: true })
      yield* elapse()
      const received = pc.received.find(({ event }) => event === "client:tool_call")
      const reqId = String(Object(received?.value)["req_id"])
      yield* startCall(agent, { req_id: reqId })
      yield* pc.notify("server:update_tool_call", { ...waiting, ...named, req_id: reqId })
      yield* elapse()
      assert.deepStrictEqual<unknown>(messages, seen)
      assert.lengthOf(
        agent.received.filter(({ event }) => event === "notify:update_tool_call"),
        notified
      )
    })
  )

  it.effect("leaves the statuses of the Agent's calls to the Agent", () =>
    Effect.gen(function* () {
      const { agent, call, messages, pc } = yield* officeWith(Effect.never)
      yield* Effect.forkScoped(call, { startImmediately: true })
      yield* startCall(agent, { req_id: "own" })
      yield* pc.notify("server:update_tool_call", { computer: "pc", req_id: "own", status: "waiting_for_consent" })
      yield* elapse()
      assert.deepStrictEqual(messages, [started])
      assert.include(
        agent.received.map(({ event }) => event),
        "notify:update_tool_call"
      )
    })
  )

  it.effect("is cancelled at the Computer when it is closed", () =>
    Effect.gen(function* () {
      const { call, close, pc } = yield* officeWith(Effect.never)
      const fiber = yield* Effect.forkScoped(call, { startImmediately: true })
      yield* elapse()
      yield* Fiber.interrupt(fiber)
      yield* close
      yield* elapse()
      assert.include(
        pc.received.map(({ event }) => event),
        "notify:tool_call_cancel"
      )
    })
  )

  it.effect("survives the Agent, which leaves", () =>
    Effect.gen(function* () {
      const { agent, call, messages } = yield* officeWith(Effect.delay(Effect.succeed(toolResult("late")), "1 second"))
      yield* Effect.forkScoped(call, { startImmediately: true })
      yield* elapse()
      yield* agent.close
      yield* elapse("2 seconds")
      assert.deepStrictEqual(messages.at(-1), { _tag: "Result", result: toolResult("late") })
    })
  )

  it.effect("ends when the Computer leaves", () =>
    Effect.gen(function* () {
      const { call, messages, pc } = yield* officeWith(Effect.never)
      yield* Effect.forkScoped(call, { startImmediately: true })
      yield* elapse()
      yield* pc.close
      yield* elapse()
      assert.strictEqual(messages.at(-1)?._tag, "Failed")
    })
  )

  it.effect("needs a Computer that allows it", () =>
    Effect.gen(function* () {
      const { call } = yield* officeWith(Effect.never, { a2c_features: [] })
      const code = yield* Effect.match(call, { onSuccess: () => 0, onFailure: (error) => error.code })
      assert.strictEqual(code, 409)
    })
  )

  it.effect("sends nothing else to the office", () =>
    Effect.gen(function* () {
      const { agent, call } = yield* officeWith(Effect.succeed(toolResult("done")))
      const before = agent.received.length
      yield* call
      yield* elapse()
      assert.strictEqual(agent.received.length, before)
    })
  )
})
