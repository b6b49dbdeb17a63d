import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { asObject } from "../../../../../src/domain/json.ts"
import type { PageCallMessage } from "../../../../../src/domain/page/PageCommand.ts"
import type { Member } from "../../clusterNode.ts"
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
import { effectWith } from "../../../../testWith.ts"

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
  /** The request of the call, once the Computer has it. */
  const received = () => asObject(pc.received.find(({ event }) => event === "client:tool_call")?.value)
  return { server, pc, agent, stream, messages, call, received, close: Scope.close(scope, Exit.void) }
})

const done = officeWith(Effect.succeed(toolResult("done")))

/** An office in which the call runs. */
const running = Effect.gen(function* () {
  const office = yield* officeWith(Effect.never)
  const fiber = yield* Effect.forkScoped(office.call, { startImmediately: true })
  yield* elapse()
  return { ...office, fiber }
})

const waiting = { computer: "pc", status: "waiting_for_consent" }
const shown: PageCallMessage = { _tag: "Status", status: { _tag: "WaitingForConsent", computer: "pc" } }

const statusesOf = ({ received }: Member) => received.filter(({ event }) => event === "notify:update_tool_call").length

describe("a call of an operator beside the Agent", () => {
  const test = effectWith(running)
  const testDone = effectWith(done)

  testDone("ends with the result, and changes no membership", function* ({ call, messages, stream }) {
    yield* call
    assert.deepStrictEqual(messages, [started, { _tag: "Result", result: toolResult("done") }])
    yield* elapse()
    assert.deepStrictEqual([stream.tagged("Entered"), stream.tagged("Left")], [[], []])
  })

  test("names each operator of calls at once to the Computer", function* ({ pc, received, server }) {
    assert.deepInclude(received(), { agent: "operator:olga", tool_name: "fs:list" })
    const replies = yield* server.watch.call(request, operatorOf("otto"))
    yield* Effect.forkScoped(Stream.runDrain(replies), { startImmediately: true })
    yield* elapse()
    const callers = pc.received.flatMap(({ event, value }) =>
      event === "client:tool_call" ? [asObject(value)["agent"]] : []
    )
    assert.deepStrictEqual(callers, ["operator:olga", "operator:otto"])
  })

  testDone("appears in streams under the name of the operator", function* ({ call, stream }) {
    yield* call
    yield* elapse()
    const calls = stream.tagged("Call").at(-1)?.call
    assert.deepInclude(calls, { node, office: "O", agent: "operator:olga", subject: "olga", outcome: "ok" })
  })

  test("gets its own status, which the Agent does not get", function* ({ agent, messages, pc, received }) {
    yield* pc.notify("server:update_tool_call", { ...waiting, req_id: received()["req_id"] })
    yield* elapse()
    assert.deepStrictEqual([messages, statusesOf(agent)], [[started, shown], 0])
  })

  it.effect.each([
    ["the Agent", { agent: "ada" }, [started], 1],
    ["the operator", { agent: "operator:olga" }, [started, shown], 0],
    ["another operator", { agent: "operator:ann" }, [started], 0],
    // Computers of earlier versions: better no status than one of another call.
    ["no caller", {}, [started], 0]
  ] as const)("shares no status with a call of the Agent of the same id: of %s", ([, named, seen, notified]) =>
    Effect.gen(function* () {
      const { agent, messages, pc, received } = yield* running
      const reqId = received()["req_id"]
      yield* startCall(agent, { req_id: reqId })
      yield* pc.notify("server:update_tool_call", { ...waiting, ...named, req_id: reqId })
      yield* elapse()
      assert.deepStrictEqual<unknown>([messages, statusesOf(agent)], [seen, notified])
    })
  )

  test("leaves the statuses of the Agent's calls to the Agent", function* ({ agent, messages, pc }) {
    yield* startCall(agent, { req_id: "own" })
    yield* pc.notify("server:update_tool_call", { ...waiting, req_id: "own" })
    yield* elapse()
    assert.deepStrictEqual([messages, statusesOf(agent)], [[started], 1])
  })

  test("is cancelled at the Computer when it is closed", function* ({ close, fiber, pc }) {
    yield* Fiber.interrupt(fiber)
    yield* close
    yield* elapse()
    assert.include(
      pc.received.map(({ event }) => event),
      "notify:tool_call_cancel"
    )
  })

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

  test("ends when the Computer leaves", function* ({ messages, pc }) {
    yield* pc.close
    yield* elapse()
    assert.strictEqual(messages.at(-1)?._tag, "Failed")
  })

  it.effect("needs a Computer that allows it", () =>
    Effect.gen(function* () {
      const { call } = yield* officeWith(Effect.never, { a2c_features: [] })
      const code = yield* Effect.match(call, { onSuccess: () => 0, onFailure: (error) => error.code })
      assert.strictEqual(code, 409)
    })
  )

  testDone("sends nothing else to the office", function* ({ agent, call }) {
    const before = agent.received.length
    yield* call
    yield* elapse()
    assert.strictEqual(agent.received.length, before)
  })
})
