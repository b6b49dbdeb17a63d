import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import {
  layer as memoryMcp,
  makeMemoryMcpServer,
  type MemoryTool
} from "../../../../src/adapters/memory/MemoryMcp.ts"
import { ComputerSettings } from "../../../../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import { makeServerSupervisor } from "../../../../src/application/computer/servers/ServerSupervisor.ts"
import { makeToolCalls } from "../../../../src/application/computer/calls/ToolCalls.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { setupOf } from "../stage.ts"

const letGo = TestClock.adjust(0)

/** Calls on one server that has these tools, which need no consent unless somebody can give it. */
const callsOn = Effect.fnUntraced(function* (
  tools: ReadonlyArray<MemoryTool>,
  settings: Partial<ComputerSettings> = {}
) {
  const alpha = yield* makeMemoryMcpServer({ tools })
  const configure =
    settings.confirm === undefined ? { alpha: { default_tool_meta: { auto_apply: true } } } : {}
  const setup = setupOf(["alpha"], { configure })
  return yield* Effect.gen(function* () {
    const calls = yield* makeToolCalls(yield* makeServerSupervisor(setup, makeSecrets(), () => Effect.void))
    yield* letGo
    return calls
  }).pipe(
    Effect.provide(Layer.merge(memoryMcp(new Map([["alpha", alpha]])), Inputs.layer())),
    Effect.provideService(ComputerSettings, { ...ComputerSettings.defaultValue(), ...settings })
  )
})

const request = (reqId: string, toolName: string) => ({
  agent: "a",
  computer: "pc",
  reqId,
  toolName,
  params: {},
  timeout: 600
})

describe("calls of tools", () => {
  it.effect("a call that comes while others are being stopped is remembered like any other", () =>
    Effect.gen(function* () {
      let runs = 0
      const go = yield* Deferred.make<void>()
      const slow = tool("slow", () => Effect.onInterrupt(Effect.never, () => Effect.sleep("10 seconds")))
      const next = tool("next", () =>
        Effect.suspend(() => (runs++, Effect.as(Deferred.await(go), textResult("done"))))
      )
      const { call, reset } = yield* callsOn([slow, next])
      yield* Effect.forkChild(call(request("r1", "slow")))
      yield* letGo
      const resetting = yield* Effect.forkChild(reset)
      yield* letGo
      const first = yield* Effect.forkChild(call(request("r2", "next")))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(resetting)
      const again = yield* Effect.forkChild(call(request("r2", "next")))
      yield* letGo
      yield* Deferred.succeed(go, undefined)
      assert.isFalse((yield* Fiber.join(first)).isError)
      assert.isFalse((yield* Fiber.join(again)).isError)
      assert.strictEqual(runs, 1)
    })
  )

  it.effect("a result is kept for five minutes, however long the call took", () =>
    Effect.gen(function* () {
      let runs = 0
      const slow = tool("slow", () =>
        Effect.suspend(() => (runs++, Effect.delay(Effect.succeed(textResult("done")), "8 minutes")))
      )
      const { call } = yield* callsOn([slow, tool("quick")])
      const first = yield* Effect.forkChild(call(request("r1", "slow")))
      yield* TestClock.adjust("7 minutes")
      yield* call(request("r2", "quick"))
      yield* TestClock.adjust("1 minute")
      const result = yield* Fiber.join(first)
      yield* TestClock.adjust("4 minutes")
      const again = yield* Effect.forkChild(call(request("r1", "slow")))
      yield* letGo
      assert.deepStrictEqual(yield* Fiber.join(again), result)
      assert.strictEqual(runs, 1)
      yield* TestClock.adjust("2 minutes")
      yield* Effect.forkChild(call(request("r1", "slow")))
      yield* letGo
      assert.strictEqual(runs, 2)
    })
  )

  it.effect("somebody who is asked for consent and breaks down has said no", () =>
    Effect.gen(function* () {
      const broken = () => {
        throw new Error("no screen")
      }
      const { call } = yield* callsOn([tool("t")], { confirm: broken })
      assert.strictEqual((yield* call(request("r1", "t"))).meta?.["error_code"], 4005)
    })
  )

  it.effect("a tool that breaks down is an error for the Computer's own people, too", () =>
    Effect.gen(function* () {
      const { callLocally } = yield* callsOn([tool("t", () => Effect.die(new Error("a bug")))])
      const result = yield* callLocally({ tool: "t", params: {}, timeout: Duration.seconds(1) })
      assert.deepStrictEqual(result.content, [{ type: "text", text: "Internal error" }])
    })
  )

  it.effect("results are forgotten by their size, however deep their text lies", () =>
    Effect.gen(function* () {
      let runs = 0
      const text = "x".repeat(17 * 1024 * 1024)
      const big = tool("big", () =>
        Effect.sync(
          () => (runs++, textResult("big", { structuredContent: { a: { b: { c: { d: { text } } } } } }))
        )
      )
      const { call } = yield* callsOn([big])
      for (const reqId of ["r1", "r2", "r3", "r1"]) yield* call(request(reqId, "big"))
      assert.strictEqual(runs, 4)
    })
  )
})
