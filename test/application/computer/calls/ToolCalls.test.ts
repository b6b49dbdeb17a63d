import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { layer as memoryMcp, makeMemoryMcpServer, type MemoryTool } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { ComputerSettings } from "../../../../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import { makeServerSupervisor } from "../../../../src/application/computer/servers/ServerSupervisor.ts"
import { makeToolCalls } from "../../../../src/application/computer/calls/ToolCalls.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { setupOf } from "../stage.ts"

const runPending = TestClock.adjust(0)

/** Tool calls on one server with these tools, which need consent only with a `confirm` setting. */
const callsOn = Effect.fnUntraced(function* (
  tools: ReadonlyArray<MemoryTool>,
  settings: Partial<ComputerSettings> = {}
) {
  const alpha = yield* makeMemoryMcpServer({ tools })
  const configure = settings.confirm === undefined ? { alpha: { default_tool_meta: { auto_apply: true } } } : {}
  const setup = setupOf(["alpha"], { configure })
  return yield* Effect.gen(function* () {
    const calls = yield* makeToolCalls("pc-1", yield* makeServerSupervisor(setup, makeSecrets(), () => Effect.void))
    yield* runPending
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

describe("ToolCalls", () => {
  it.effect("caches a call that arrives during a reset", () =>
    Effect.gen(function* () {
      let runs = 0
      const go = yield* Deferred.make<void>()
      const slow = tool("slow", () => Effect.onInterrupt(Effect.never, () => Effect.sleep("10 seconds")))
      const next = tool("next", () => Effect.suspend(() => (runs++, Effect.as(Deferred.await(go), textResult("done")))))
      const { call, reset } = yield* callsOn([slow, next])
      yield* Effect.forkChild(call(request("r1", "slow")))
      yield* runPending
      const resetting = yield* Effect.forkChild(reset)
      yield* runPending
      const first = yield* Effect.forkChild(call(request("r2", "next")))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(resetting)
      const again = yield* Effect.forkChild(call(request("r2", "next")))
      yield* runPending
      yield* Deferred.succeed(go, undefined)
      assert.isFalse((yield* Fiber.join(first)).isError)
      assert.isFalse((yield* Fiber.join(again)).isError)
      assert.strictEqual(runs, 1)
    })
  )

  it.effect("caches a result for five minutes after the call ended", () =>
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
      yield* runPending
      assert.deepStrictEqual(yield* Fiber.join(again), result)
      assert.strictEqual(runs, 1)
      yield* TestClock.adjust("2 minutes")
      yield* Effect.forkChild(call(request("r1", "slow")))
      yield* runPending
      assert.strictEqual(runs, 2)
    })
  )

  it.effect("denies a call when the confirm callback throws", () =>
    Effect.gen(function* () {
      const broken = () => {
        throw new Error("no screen")
      }
      const { call } = yield* callsOn([tool("t")], { confirm: broken })
      assert.strictEqual((yield* call(request("r1", "t"))).meta?.["error_code"], 4005)
    })
  )

  it.effect("returns an error result for a defect of a local call", () =>
    Effect.gen(function* () {
      const { callLocally } = yield* callsOn([tool("t", () => Effect.die(new Error("a bug")))])
      const result = yield* callLocally({ tool: "t", params: {}, timeout: Duration.seconds(1) })
      assert.deepStrictEqual(result.content, [{ type: "text", text: "Internal error" }])
    })
  )

  it.effect("evicts results by size, counting nested texts", () =>
    Effect.gen(function* () {
      let runs = 0
      const text = "x".repeat(17 * 1024 * 1024)
      const big = tool("big", () =>
        Effect.sync(() => (runs++, textResult("big", { structuredContent: { a: { b: { c: { d: { text } } } } } })))
      )
      const { call } = yield* callsOn([big])
      for (const reqId of ["r1", "r2", "r3", "r1"]) yield* call(request(reqId, "big"))
      assert.strictEqual(runs, 4)
    })
  )
})
