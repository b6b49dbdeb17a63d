import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import type { InputResponder, McpProgress } from "../../../src/application/ports/McpSession.ts"
import { makeToolsSession, type SessionTool } from "../../../src/application/shared/toolsOnlySession.ts"
import type { InputRequest } from "../../../src/domain/model/InputRequest.ts"

const tool = (name: string, run: SessionTool["run"]): SessionTool => ({
  definition: { name, inputSchema: { type: "object" } },
  run
})

describe("a session of tools", () => {
  it.effect("lists the definitions and describes itself", () =>
    Effect.gen(function* () {
      const echo = tool("echo", () => Effect.succeed({ content: [] }))
      const { info, listResources, listTools } = makeToolsSession({
        name: "own",
        instructions: "be kind",
        tools: [echo]
      })
      assert.deepStrictEqual(yield* listTools(), { items: [echo.definition], nextCursor: undefined })
      assert.deepStrictEqual([info.name, info.instructions], ["own", "be kind"])
      assert.deepStrictEqual(info.capabilities, { tools: true, resources: false, subscribe: false })
      assert.strictEqual((yield* Effect.flip(listResources())).reason, "unsupported")
    })
  )

  it.effect("runs a tool with its params and reports progress", () =>
    Effect.gen(function* () {
      const reports: Array<McpProgress> = []
      const echo = tool("echo", (params, { progress }) => Effect.as(progress({ progress: 1 }), { params }))
      const { callTool } = makeToolsSession({ name: "own", tools: [echo] })
      const onProgress = (report: McpProgress) => Effect.sync(() => void reports.push(report))
      assert.deepStrictEqual(yield* callTool("echo", { a: 1 }, { onProgress }), { params: { a: 1 } })
      assert.deepStrictEqual(reports, [{ progress: 1 }])
      assert.deepStrictEqual(yield* callTool("echo", {}), { params: {} })
    })
  )

  const form = { mode: "form", message: "who?", schema: {} } as const
  it.effect.each([
    [{ modes: ["form"], answer: () => Effect.succeed({ action: "accept" }) }, [form], "accept"],
    [{ modes: ["url"], answer: () => Effect.succeed({ action: "accept" }) }, [], "decline"],
    [undefined, [], "decline"]
  ] as ReadonlyArray<readonly [InputResponder | undefined, ReadonlyArray<InputRequest>, string]>)(
    "asks a client that answers questions of this kind: %j",
    ([responder, expected, action]) =>
      Effect.gen(function* () {
        const asked: Array<InputRequest> = []
        const greet = tool("greet", (_, { ask }) => Effect.map(ask(form), (answer) => ({ action: answer.action })))
        const { callTool } = makeToolsSession({ name: "own", tools: [greet] })
        const recorded = responder && {
          ...responder,
          answer: (request: InputRequest) => (asked.push(request), responder.answer(request))
        }
        const options = recorded === undefined ? {} : { responder: recorded }
        assert.deepStrictEqual(yield* callTool("greet", {}, options), { action })
        assert.deepStrictEqual(asked, [...expected])
      })
  )

  it.effect("fails a call to a tool that it lacks", () =>
    Effect.gen(function* () {
      const { callTool } = makeToolsSession({ name: "own", tools: [] })
      const { code, reason } = yield* Effect.flip(callTool("toString", {}))
      assert.deepStrictEqual([reason, code], ["protocol", -32602])
    })
  )

  it.effect("interrupts a cancelled call", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const slow = tool("slow", () =>
        Deferred.succeed(started, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
        )
      )
      const call = yield* Effect.forkChild(makeToolsSession({ name: "own", tools: [slow] }).callTool("slow", {}))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(call)
      yield* Deferred.await(interrupted)
    })
  )
})
