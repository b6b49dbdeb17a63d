import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { toolCancelled, toolTimedOut } from "../../../../src/domain/tools/errorResults.ts"
import type { Limits } from "../../../../src/application/server/connections/Limits.ts"
import { maxCallsPerBatch } from "../../../../src/application/shared/page/StreamBuffer.ts"
import { settle } from "../../../settle.ts"
import {
  elapse,
  line,
  makeCall,
  node,
  openStream,
  startCall,
  startWatched,
  toolCall,
  toolResult
} from "./watchedServer.ts"

/** An office with a Computer that replies with a value, and a stream. */
const officeWith = Effect.fnUntraced(function* (answer: Effect.Effect<unknown>, limits: Partial<Limits> = {}) {
  const server = yield* startWatched({ limits })
  const computer = yield* server.computer("pc", { answer: () => answer })
  yield* server.computer("slow", { answer: () => Effect.never })
  const agent = yield* server.agent()
  const stream = yield* openStream(server)
  return { server, agent, computer, stream, shown: () => stream.tagged("Call").map(({ call }) => call) }
})

describe("a call in a stream", () => {
  it.effect("appears when it starts", () =>
    Effect.gen(function* () {
      const { agent, shown } = yield* officeWith(Effect.never)
      yield* startCall(agent, { req_id: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" })
      yield* elapse()
      assert.deepStrictEqual(shown(), [
        {
          id: `${node}/1`,
          node,
          line,
          office: "O",
          agent: "ada",
          subject: "anonymous",
          computer: "pc",
          event: "client:tool_call",
          tool: "fs:list",
          reqId: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
          startedAt: 0,
          traceId: "4bf92f3577b34da6a3ce929d0e0e4736"
        }
      ])
    })
  )

  it.effect("appears once when it starts and ends between two batches", () =>
    Effect.gen(function* () {
      const { agent, shown } = yield* officeWith(Effect.succeed(toolResult("ok")))
      yield* makeCall(agent)
      yield* elapse()
      assert.deepStrictEqual(
        shown().map(({ endedAt, outcome }) => [outcome, endedAt]),
        [["ok", 0]]
      )
    })
  )

  it.effect("appears in the next batch when it has just started", () =>
    Effect.gen(function* () {
      const { agent, shown } = yield* officeWith(Effect.never)
      yield* TestClock.adjust("90 millis")
      yield* startCall(agent)
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(shown(), [])
      yield* elapse()
      assert.deepStrictEqual(
        shown().map(({ startedAt }) => startedAt),
        [90]
      )
    })
  )

  it.effect("appears while it runs although many other calls end", () =>
    Effect.gen(function* () {
      const limits = { messagesPerSecond: 1e6, messageBurst: 1e6 }
      const { agent, shown } = yield* officeWith(Effect.succeed(toolResult("ok")), limits)
      yield* startCall(agent, { computer: "slow", tool_name: "slow" })
      for (let batch = 0; batch < 3; batch += 1) {
        for (let index = 0; index < 2 * maxCallsPerBatch; index += 1) yield* makeCall(agent)
        yield* elapse()
      }
      const slow = shown().filter(({ tool }) => tool === "slow")
      assert.deepStrictEqual(
        slow.map(({ outcome = "running" }) => outcome),
        ["running"]
      )
    })
  )

  it.effect("appears in a stream although another one starts with it", () =>
    Effect.gen(function* () {
      const { agent, server, shown } = yield* officeWith(Effect.never)
      yield* startCall(agent)
      yield* openStream(server)
      yield* elapse()
      assert.strictEqual(shown().length, 1)
    })
  )

  it.effect("shows the status that its Computer reports, and keeps it to the end", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { agent, computer, shown } = yield* officeWith(Effect.as(Deferred.await(gate), toolResult("ok")))
      yield* startCall(agent)
      const report = { computer: "pc", req_id: "r", status: "progress", progress: 3, total: 9 }
      yield* computer.notify("server:update_tool_call", report)
      yield* elapse()
      const status = { _tag: "Progressing", computer: "pc", progress: 3, total: 9 } as const
      assert.deepStrictEqual(
        shown().map((call) => call.status),
        [status]
      )
      yield* Deferred.succeed(gate, undefined)
      yield* elapse()
      const [, ended] = shown()
      assert.deepInclude(ended, { status, outcome: "ok", endedAt: 100 })
    })
  )

  it.effect("keeps its last known status after one of a later kind", () =>
    Effect.gen(function* () {
      const { agent, computer, shown } = yield* officeWith(Effect.never)
      yield* startCall(agent)
      yield* computer.notify("server:update_tool_call", { computer: "pc", req_id: "r", status: "waiting_for_consent" })
      yield* computer.notify("server:update_tool_call", { computer: "pc", req_id: "r", status: "dreaming" })
      yield* elapse()
      assert.deepStrictEqual(
        shown().map((call) => call.status),
        [{ _tag: "WaitingForConsent", computer: "pc" }]
      )
    })
  )

  it.effect("ignores a status of an unknown call", () =>
    Effect.gen(function* () {
      const { computer, shown } = yield* officeWith(Effect.never)
      yield* computer.notify("server:update_tool_call", { computer: "pc", req_id: "x", status: "waiting_for_consent" })
      yield* elapse()
      assert.deepStrictEqual(shown(), [])
    })
  )

  for (const [outcome, reply] of [
    ["ok", toolResult("fine")],
    ["tool_error", toolResult("bad", { isError: true })],
    ["cancelled", toolCancelled()],
    ["cancelled", toolResult("stopped", { isError: true, _meta: { a2c_cancelled: true } })],
    ["timeout", toolTimedOut("computer")],
    ["tool_error", toolResult("bad", { isError: true, _meta: { a2c_timeout: false } })],
    ["ok", toolResult("fine", { _meta: { vendor: 1 } })],
    ["4001", { code: 4001, message: "no such tool" }]
  ] as const) {
    it.effect(`ends with ${outcome} after the reply ${JSON.stringify(reply).slice(0, 60)}`, () =>
      Effect.gen(function* () {
        const { agent, shown } = yield* officeWith(Effect.succeed(reply))
        yield* makeCall(agent)
        yield* elapse()
        assert.deepStrictEqual(
          shown().map((call) => call.outcome),
          [outcome]
        )
      })
    )
  }

  it.effect("ends with 404 when its Computer is absent", () =>
    Effect.gen(function* () {
      const { agent, shown } = yield* officeWith(Effect.never)
      yield* makeCall(agent, { computer: "other" })
      yield* elapse()
      assert.deepStrictEqual(
        shown().map(({ computer, outcome }) => [computer, outcome]),
        [["other", "404"]]
      )
    })
  )

  it.effect("ends with 404 when its Computer disconnects", () =>
    Effect.gen(function* () {
      const { agent, computer, shown } = yield* officeWith(Effect.never)
      yield* startCall(agent)
      yield* computer.close
      yield* elapse()
      assert.deepStrictEqual(
        shown().map(({ outcome }) => outcome),
        ["404"]
      )
    })
  )

  it.effect("ends with 408 when its Computer does not reply", () =>
    Effect.gen(function* () {
      const { agent, shown } = yield* officeWith(Effect.never)
      const call = yield* startCall(agent, { timeout: 1 })
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(yield* Fiber.join(call), { code: 408 })
      assert.strictEqual(shown().at(-1)?.outcome, "408")
    })
  )

  it.effect("ends with 4103 when its Agent disconnects", () =>
    Effect.gen(function* () {
      const { agent, shown } = yield* officeWith(Effect.never)
      yield* startCall(agent)
      yield* elapse()
      yield* agent.close
      yield* elapse()
      assert.deepStrictEqual(
        shown().map(({ outcome = "running" }) => outcome),
        ["running", "4103"]
      )
    })
  )

  it.effect("has a shortened tool", () =>
    Effect.gen(function* () {
      const { agent, shown } = yield* officeWith(Effect.never)
      yield* Effect.forkChild(agent.request("client:dance", toolCall("ada", { tool_name: "t".repeat(300) })))
      yield* elapse()
      assert.strictEqual(shown()[0]?.tool, `${"t".repeat(255)}…`)
    })
  )

  it.effect("has no tool when it is another request", () =>
    Effect.gen(function* () {
      const { agent, shown } = yield* officeWith(Effect.succeed({ tools: [], req_id: "r" }))
      const { tool_name: _, params: __, timeout: ___, ...request } = toolCall("ada")
      yield* Effect.forkChild(agent.request("client:get_tools", request))
      yield* settle
      yield* elapse()
      assert.deepStrictEqual(
        shown().map(({ event, outcome, tool }) => [event, tool, outcome]),
        [["client:get_tools", undefined, "ok"]]
      )
    })
  )
})
