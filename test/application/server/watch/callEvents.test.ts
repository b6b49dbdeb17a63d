import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { toolCancelled, toolTimedOut } from "../../../../src/domain/tools/errorResults.ts"
import type { Limits } from "../../../../src/application/server/Limits.ts"
import { maxCallsPerBatch } from "../../../../src/application/shared/page/StreamBuffer.ts"
import { settle } from "../../../settle.ts"
import {
  elapse,
  line,
  makeCall,
  node,
  openStream,
  outcomesOf,
  startCall,
  startOffice,
  toolCall,
  toolResult
} from "./watchedServer.ts"
import { effectWith } from "../../../testWith.ts"

/** An office with a stream, and the calls that it has shown. */
const officeWith = Effect.fnUntraced(function* (reply: Effect.Effect<unknown>, limits: Partial<Limits> = {}) {
  const server = yield* startOffice(reply, { limits })
  yield* server.computer("slow", { answer: () => Effect.never })
  const stream = yield* openStream(server)
  const shown = () => stream.tagged("Call").map(({ call }) => call)
  return {
    server,
    pc: server.pc,
    ada: server.ada,
    shown,
    outcomes: () => outcomesOf(shown()),
    statuses: () => shown().map(({ status }) => status)
  }
})

const test = effectWith(officeWith(Effect.never))
const testDone = effectWith(officeWith(Effect.succeed(toolResult("ok"))))

describe("a call in a stream", () => {
  test("appears when it starts", function* ({ ada, shown }) {
    const reqId = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    yield* startCall(ada, { req_id: reqId })
    yield* elapse()
    const members = { line, office: "O", agent: "ada", subject: "anonymous", computer: "pc" }
    const trace = { reqId, traceId: "4bf92f3577b34da6a3ce929d0e0e4736" }
    const call = { event: "client:tool_call", tool: "fs:list", startedAt: 0, ...trace }
    assert.deepStrictEqual(shown(), [{ id: `${node}/1`, node, ...members, ...call }])
  })

  testDone("appears once when it starts and ends between two batches", function* ({ ada, shown }) {
    yield* makeCall(ada)
    yield* elapse()
    assert.deepStrictEqual(
      shown().map(({ endedAt, outcome }) => [outcome, endedAt]),
      [["ok", 0]]
    )
  })

  test("appears in the next batch when it has just started", function* ({ ada, shown }) {
    yield* TestClock.adjust("90 millis")
    yield* startCall(ada)
    yield* TestClock.adjust("10 millis")
    assert.deepStrictEqual(shown(), [])
    yield* elapse()
    assert.deepStrictEqual(
      shown().map(({ startedAt }) => startedAt),
      [90]
    )
  })

  it.effect("appears while it runs although many other calls end", () =>
    Effect.gen(function* () {
      const limits = { messagesPerSecond: 1e6, messageBurst: 1e6 }
      const { ada, outcomes } = yield* officeWith(Effect.succeed(toolResult("ok")), limits)
      yield* startCall(ada, { computer: "slow", tool_name: "slow" })
      for (let batch = 0; batch < 3; batch += 1) {
        for (let index = 0; index < 2 * maxCallsPerBatch; index += 1) yield* makeCall(ada)
        yield* elapse()
      }
      const slow = outcomes().filter((outcome) => outcome.startsWith("slow: "))
      assert.deepStrictEqual(slow, ["slow: running"])
    })
  )

  test("appears in a stream although another one starts with it", function* ({ ada, server, shown }) {
    yield* startCall(ada)
    yield* openStream(server)
    yield* elapse()
    assert.strictEqual(shown().length, 1)
  })

  it.effect("shows the status that its Computer reports, and keeps it to the end", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { ada, pc, shown, statuses } = yield* officeWith(Effect.as(Deferred.await(gate), toolResult("ok")))
      yield* startCall(ada)
      const report = { computer: "pc", req_id: "r", status: "progress", progress: 3, total: 9 }
      yield* pc.notify("server:update_tool_call", report)
      yield* elapse()
      const status = { _tag: "Progressing", computer: "pc", progress: 3, total: 9 } as const
      assert.deepStrictEqual(statuses(), [status])
      yield* Deferred.succeed(gate, undefined)
      yield* elapse()
      const [, ended] = shown()
      assert.deepInclude(ended, { status, outcome: "ok", endedAt: 100 })
    })
  )

  test("keeps its last known status after one of a later kind", function* ({ ada, pc, statuses }) {
    yield* startCall(ada)
    yield* pc.notify("server:update_tool_call", { computer: "pc", req_id: "r", status: "waiting_for_consent" })
    yield* pc.notify("server:update_tool_call", { computer: "pc", req_id: "r", status: "dreaming" })
    yield* elapse()
    assert.deepStrictEqual(statuses(), [{ _tag: "WaitingForConsent", computer: "pc" }])
  })

  test("ignores a status of an unknown call", function* ({ pc, shown }) {
    yield* pc.notify("server:update_tool_call", { computer: "pc", req_id: "x", status: "waiting_for_consent" })
    yield* elapse()
    assert.deepStrictEqual(shown(), [])
  })

  it.effect.each([
    ["ok", toolResult("fine")],
    ["tool_error", toolResult("bad", { isError: true })],
    ["cancelled", toolCancelled()],
    ["cancelled", toolResult("stopped", { isError: true, _meta: { a2c_cancelled: true } })],
    ["timeout", toolTimedOut("computer")],
    ["tool_error", toolResult("bad", { isError: true, _meta: { a2c_timeout: false } })],
    ["ok", toolResult("fine", { _meta: { vendor: 1 } })],
    ["4001", { code: 4001, message: "no such tool" }]
  ] as const)("ends with %s after the reply %j", ([outcome, reply]) =>
    Effect.gen(function* () {
      const { ada, outcomes } = yield* officeWith(Effect.succeed(reply))
      yield* makeCall(ada)
      yield* elapse()
      assert.deepStrictEqual(outcomes(), [`fs:list: ${outcome}`])
    })
  )

  test("ends with 404 when its Computer is absent", function* ({ ada, shown }) {
    yield* makeCall(ada, { computer: "other" })
    yield* elapse()
    assert.deepStrictEqual(
      shown().map(({ computer, outcome }) => [computer, outcome]),
      [["other", "404"]]
    )
  })

  test("ends with 404 when its Computer disconnects", function* ({ ada, outcomes, pc }) {
    yield* startCall(ada)
    yield* pc.close
    yield* elapse()
    assert.deepStrictEqual(outcomes(), ["fs:list: 404"])
  })

  test("ends with 408 when its Computer does not reply", function* ({ ada, shown }) {
    const call = yield* startCall(ada, { timeout: 1 })
    yield* TestClock.adjust("1 minute")
    assert.deepInclude(yield* Fiber.join(call), { code: 408 })
    assert.strictEqual(shown().at(-1)?.outcome, "408")
  })

  test("ends with 4103 when its Agent disconnects", function* ({ ada, outcomes }) {
    yield* startCall(ada)
    yield* elapse()
    yield* ada.close
    yield* elapse()
    assert.deepStrictEqual(outcomes(), ["fs:list: running", "fs:list: 4103"])
  })

  test("has a shortened tool", function* ({ ada, shown }) {
    yield* Effect.forkChild(ada.request("client:dance", toolCall("ada", { tool_name: "t".repeat(300) })))
    yield* elapse()
    assert.strictEqual(shown()[0]?.tool, `${"t".repeat(255)}…`)
  })

  it.effect("has no tool when it is another request", () =>
    Effect.gen(function* () {
      const { ada, shown } = yield* officeWith(Effect.succeed({ tools: [], req_id: "r" }))
      const { tool_name: _, params: __, timeout: ___, ...request } = toolCall("ada")
      yield* Effect.forkChild(ada.request("client:get_tools", request))
      yield* settle
      yield* elapse()
      assert.deepStrictEqual(
        shown().map(({ event, outcome, tool }) => [event, tool, outcome]),
        [["client:get_tools", undefined, "ok"]]
      )
    })
  )
})
