import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { layer as memoryMcp, makeMemoryMcpServer, type MemoryTool } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { ComputerSettings, type ProgressReport } from "../../../../src/application/computer/ComputerSettings.ts"
import { McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import { InvalidSchema, SchemaValidator } from "../../../../src/application/ports/SchemaValidator.ts"
import { VrlEngine } from "../../../../src/application/ports/VrlEngine.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import { makeServerSupervisor } from "../../../../src/application/computer/servers/ServerSupervisor.ts"
import { makeApprovals } from "../../../../src/application/computer/approvals/Approvals.ts"
import type { CallStatus } from "../../../../src/domain/model/CallStatus.ts"
import { type CallReporter, silentReporter } from "../../../../src/application/computer/calls/Call.ts"
import { makeToolCalls } from "../../../../src/application/computer/calls/ToolCalls.ts"
import { errorCodeOf } from "../../../../src/domain/tools/errorResults.ts"
import { hangingTool, textResult, tool } from "../../../conformance/members.ts"
import { setupOf } from "../testComputer.ts"
import { firstText } from "../../../firstText.ts"
import { type OfficeCaller, officeCaller } from "../../../../src/domain/approvals/Caller.ts"
import type { CallReport } from "../../../../src/domain/model/CallStatus.ts"
import type { ToolCallRequest } from "../../../../src/domain/wire/calls.ts"
import { portDefaults } from "../../../portDefaults.ts"

const runPending = TestClock.adjust(0)

const ada = officeCaller("a", 1, true)

/** Tool calls on one server with these tools, which need consent only with a `confirm` setting. */
const callsOn = Effect.fnUntraced(function* (
  tools: ReadonlyArray<MemoryTool>,
  settings: Partial<ComputerSettings> = {},
  more: JsonObject = {},
  reporter: CallReporter = silentReporter
) {
  const alpha = yield* makeMemoryMcpServer({ tools })
  const consent = settings.confirm === undefined ? { default_tool_meta: { auto_apply: true } } : {}
  const setup = setupOf(["alpha"], { configure: { alpha: { ...consent, ...more } } })
  return yield* Effect.gen(function* () {
    const supervisor = yield* makeServerSupervisor(setup, makeSecrets(), () => Effect.void)
    const calls = yield* makeToolCalls({
      approvals: yield* makeApprovals("pc-1", supervisor),
      computer: "pc-1",
      currentOffice: () => undefined,
      reporter,
      secrets: makeSecrets(),
      servers: supervisor
    })
    yield* runPending
    return {
      ...calls,
      callAs: calls.call,
      call: (requests: ToolCallRequest) => calls.call(requests, officeCaller(requests.agent, 1, true)),
      cancelAs: calls.cancel,
      cancel: (reqId: string) => calls.cancel(reqId, ada)
    }
  }).pipe(
    Effect.provide(Layer.merge(memoryMcp(new Map([["alpha", alpha]])), Inputs.layer())),
    Effect.provideService(ComputerSettings, { ...ComputerSettings.defaultValue(), ...settings }),
    Effect.provide(portDefaults)
  )
})

/** A tool that reports one step of progress. */
const reporting = tool("t", (_, { progress }) => Effect.as(progress({ progress: 1, total: 2 }), textResult("t")))

const request = (reqId: string, toolName: string) => ({
  agent: "a",
  computer: "pc",
  reqId,
  toolName,
  params: {},
  timeout: 600
})

/** Tool calls on two servers whose parameters are validated by `validated`. */
const changing = Effect.gen(function* () {
  const ran: Array<string> = []
  const noted = (name: string) => tool(name, () => Effect.sync(() => (ran.push(name), textResult(name))))
  const alpha = yield* makeMemoryMcpServer({ tools: [noted("t"), noted("u")] })
  const beta = yield* makeMemoryMcpServer()
  const validated = yield* Deferred.make<ReadonlyArray<string>>()
  return yield* Effect.gen(function* () {
    const supervisor = yield* makeServerSupervisor(setupOf(["alpha", "beta"]), makeSecrets(), () => Effect.void)
    const { callLocally } = yield* makeToolCalls({
      approvals: yield* makeApprovals("pc-1", supervisor),
      computer: "pc-1",
      currentOffice: () => undefined,
      reporter: silentReporter,
      secrets: makeSecrets(),
      servers: supervisor
    })
    yield* runPending
    return { alpha, beta, callLocally, noted, ran, supervisor, validated }
  }).pipe(
    Effect.provide(
      Layer.merge(
        memoryMcp(
          new Map([
            ["alpha", alpha],
            ["beta", beta]
          ])
        ),
        Inputs.layer()
      )
    ),
    Effect.provideService(SchemaValidator, { check: () => Deferred.await(validated) }),
    Effect.provide(portDefaults)
  )
})

type Changing = Effect.Success<typeof changing>

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

  it.effect("evicts a result five minutes after its call, behind a call that ended later", () =>
    Effect.gen(function* () {
      let runs = 0
      const slow = tool("slow", () => Effect.delay(Effect.succeed(textResult("done")), "8 minutes"))
      const quick = tool("quick", () => Effect.sync(() => textResult(String(runs++))))
      const { call } = yield* callsOn([slow, quick])
      yield* Effect.forkChild(call(request("r1", "slow")))
      yield* TestClock.adjust("7 minutes")
      yield* call(request("r2", "quick"))
      yield* TestClock.adjust("5 minutes")
      yield* call(request("r2", "quick"))
      assert.strictEqual(runs, 2)
    })
  )

  it.effect("remembers 256 results", () =>
    Effect.gen(function* () {
      let runs = 0
      const { call } = yield* callsOn([tool("t", () => Effect.sync(() => textResult(String(runs++))))])
      for (let index = 0; index < 256; index++) yield* call(request(`r${index}`, "t"))
      yield* call(request("r0", "t"))
      assert.strictEqual(runs, 256)
      yield* call(request("r256", "t"))
      yield* call(request("r0", "t"))
      assert.strictEqual(runs, 258)
    })
  )

  it.effect("repeats a call that was interrupted by a reset", () =>
    Effect.gen(function* () {
      let runs = 0
      const once = tool("once", () =>
        Effect.suspend(() => (runs++ === 0 ? Effect.never : Effect.succeed(textResult("done"))))
      )
      const { call, reset } = yield* callsOn([once])
      const first = yield* Effect.forkChild(call(request("r1", "once")))
      yield* runPending
      yield* reset
      assert.isTrue((yield* Fiber.join(first)).meta?.["a2c_cancelled"])
      assert.isFalse((yield* call(request("r1", "once"))).isError)
    })
  )

  const deep = (depth: number): JsonObject => {
    let nested: JsonObject = {}
    for (let level = 0; level < depth; level++) nested = { nested }
    return nested
  }

  it.effect.each([
    ["with null members", { a: null, b: 1, c: [null, true] }],
    ["that is nested too deeply for a message", deep(100_000)]
  ] as ReadonlyArray<readonly [string, JsonObject]>)("caches a result %s", ([, structuredContent]) =>
    Effect.gen(function* () {
      let runs = 0
      const run = () => Effect.sync(() => textResult(String(runs++), { structuredContent }))
      const { call } = yield* callsOn([tool("t", run)])
      const first = yield* call(request("r1", "t"))
      assert.isFalse(first.isError)
      assert.strictEqual(yield* call(request("r1", "t")), first)
      assert.strictEqual(runs, 1)
    })
  )

  it.effect.each([
    ["a longer id", "a", 1, "r1"],
    ["another Agent", "b", 1, "r"],
    ["an operator", "operator:a", 1, "r"],
    ["an Agent in capitals", "A", 1, "r"],
    ["an Agent without a name", "", 1, "r"],
    ["a later Agent of the same name", "a", 2, "r"]
  ] as const)("cancels one of two calls, the other with %s, and then the other", ([, agent, membership, otherId]) =>
    Effect.gen(function* () {
      const { cancelAs, callAs } = yield* callsOn([tool("t", () => Effect.never)])
      const other = officeCaller(agent, membership, true)
      const start = (id: string, caller: OfficeCaller) => Effect.forkChild(callAs(request(id, "t"), caller))
      const fibers = [yield* start("r", ada), yield* start(otherId, other)] as const
      yield* runPending
      yield* cancelAs("r", ada)
      assert.isTrue((yield* Fiber.join(fibers[0])).isError)
      assert.isUndefined(fibers[1].pollUnsafe())
      yield* cancelAs(otherId, other)
      assert.isTrue((yield* Fiber.join(fibers[1])).isError)
    })
  )

  it.effect.each([
    [officeCaller("b", 1, true)],
    [officeCaller("operator:a", 1, true)],
    [officeCaller("a", 2, true)]
  ] as const)("shares no execution with another caller of the same id: %o", ([caller]) =>
    Effect.gen(function* () {
      let runs = 0
      const { call, callAs } = yield* callsOn([tool("t", () => Effect.sync(() => textResult(String(++runs))))])
      const [own, other] = [yield* call(request("1", "t")), yield* callAs(request("1", "t"), caller)]
      assert.deepStrictEqual([own, other].map(firstText), ["1", "2"])
    })
  )

  it.effect.each([["b"], ["operator:a"], ["A"], ["a"]] as const)(
    "reports a call with the id of a task to its own caller: task of %s",
    ([name]) =>
      Effect.gen(function* () {
        const reports: Array<CallReport> = []
        const reporter = {
          ...silentReporter,
          report: (report: CallReport) => Effect.sync(() => void reports.push(report))
        }
        const go = yield* Deferred.make<void>()
        const slow = tool("slow", (_, { progress }) =>
          Effect.andThen(Deferred.await(go), Effect.as(progress({ progress: 2 }), textResult("slow")))
        )
        const { call, tasks } = yield* callsOn([reporting, slow], {}, {}, reporter)
        const caller = officeCaller(name, 1, true)
        const task = { id: "1", params: {}, timeout: 600 }
        yield* tasks.start({ ...task, tool: "slow", caller })
        // The end of another task of this id takes nothing from the first one.
        yield* tasks.start({ ...task, tool: "t", caller: officeCaller("other", 1, true) })
        yield* runPending
        yield* call(request("1", "t"))
        const shown = reports.map(({ agent, reqId, status }) => [agent, reqId, status._tag])
        assert.deepStrictEqual(shown, [["a", "1", "Progressing"]])
        yield* Deferred.succeed(go, undefined)
        yield* runPending
        assert.deepInclude((yield* tasks.get(caller, { id: "1" })).status, { _tag: "Progressing", progress: 2 })
        assert.lengthOf(reports, 1)
      })
  )

  it.effect("records the calls that reach a server, with their outcome", () =>
    Effect.gen(function* () {
      const { call, history } = yield* callsOn([
        tool("good"),
        tool("bad", () => Effect.succeed(textResult("no", { isError: true }))),
        tool("broken", () => Effect.die(new Error("a bug")))
      ])
      assert.deepStrictEqual(history(), [])
      for (const name of ["good", "nope", "bad", "broken"]) yield* call(request(name, name))
      assert.deepStrictEqual(
        history().map(({ outcome, reqId, server, tool }) => [reqId, server, tool, outcome]),
        [
          ["good", "alpha", "good", "done"],
          ["bad", "alpha", "bad", "failed"],
          ["broken", "alpha", "broken", "failed"]
        ]
      )
    })
  )

  it.effect("records a cancelled call and one that timed out as such", () =>
    Effect.gen(function* () {
      const { call, callLocally, cancel, history } = yield* callsOn([tool("slow", () => Effect.never)])
      yield* Effect.forkChild(call(request("cancelled", "slow")))
      const aborted = yield* Effect.forkChild(callLocally({ tool: "slow", params: {} }))
      yield* runPending
      yield* cancel("cancelled")
      yield* Fiber.interrupt(aborted)
      yield* Effect.forkChild(call(request("late", "slow")))
      yield* TestClock.adjust("11 minutes")
      const outcomes = history().map(({ outcome }) => outcome)
      assert.deepStrictEqual(outcomes, ["cancelled", "cancelled", "timed_out"])
    })
  )

  it.effect("records the time of the last ten calls", () =>
    Effect.gen(function* () {
      const { call, history } = yield* callsOn([tool("t")])
      yield* TestClock.adjust("1 second")
      const now = yield* Clock.currentTimeMillis
      for (let index = 0; index < 11; index++) yield* call(request(`r${index}`, "t"))
      const ids = history().map(({ reqId }) => reqId)
      assert.deepStrictEqual(
        ids,
        Array.from({ length: 10 }, (_, index) => `r${index + 1}`)
      )
      assert.isTrue(history().every(({ timestamp }) => timestamp === now))
    })
  )

  it.effect("reports the progress of a call under the exposed name of its tool", () =>
    Effect.gen(function* () {
      const reports: Array<ProgressReport> = []
      const onProgress = (report: ProgressReport) => Effect.sync(() => void reports.push(report))
      const { call } = yield* callsOn(
        [reporting],
        { onProgress },
        { tool_meta: { t: { alias: "u", auto_apply: true } } }
      )
      yield* call(request("r1", "u"))
      assert.deepStrictEqual(reports, [{ progress: 1, total: 2, reqId: "r1", tool: "u" }])
    })
  )

  it.effect("takes an unclear mark of an error for an error of the tool", () =>
    Effect.gen(function* () {
      const { call } = yield* callsOn([tool("t", () => Effect.succeed({ content: [], isError: "maybe" }))])
      const { isError, meta } = yield* call(request("r1", "t"))
      assert.deepStrictEqual([isError, meta?.["error_code"]], [true, undefined])
    })
  )

  const hint = (message: string) => ({
    mcp_server: "alpha",
    auth_hint: { action: "user_authorization_required", message }
  })

  it.effect.each([
    [
      "unauthorized",
      4006,
      "MCP server 'alpha' asks for authorization",
      hint("The owner of this Computer must authorize 'alpha'")
    ],
    [
      "forbidden",
      4007,
      "MCP server 'alpha' does not permit this",
      hint("The rights granted to 'alpha' do not cover this tool")
    ],
    ["unavailable", 4003, "HTTP 502", {}]
  ] as const)("tells the Agent how its MCP server failed: %s", ([reason, code, text, more]) =>
    Effect.gen(function* () {
      const failure = new McpSessionError({ reason, message: "HTTP 502" })
      const { call } = yield* callsOn([tool("t", () => Effect.fail(failure))])
      assert.deepStrictEqual<unknown>(yield* call(request("r1", "t")), {
        content: [{ type: "text", text }],
        isError: true,
        meta: { error_code: code, ...more }
      })
    })
  )

  it.effect("tells how to approve a tool when the Computer cannot ask", () =>
    Effect.gen(function* () {
      const { call } = yield* callsOn([tool("t")], {}, { default_tool_meta: { auto_apply: false } })
      const { content, meta } = yield* call(request("r1", "t"))
      assert.strictEqual(meta?.["error_code"], 4005)
      assert.include(JSON.stringify(content), "auto_apply")
    })
  )

  it.effect("never runs a tool with arguments that do not fit its schema", () =>
    Effect.gen(function* () {
      let runs = 0
      const checked: Array<unknown> = []
      const check = (schema: JsonObject, value: unknown) =>
        Effect.sync(() => {
          checked.push([schema, value])
          return ["/a: must be a number", "/b: is required"]
        })
      const { call } = yield* Effect.provideService(
        callsOn([tool("t", () => Effect.sync(() => textResult(String(runs++))))]),
        SchemaValidator,
        { check }
      )
      const { content, isError, meta } = yield* call(request("r1", "t"))
      assert.deepStrictEqual([isError, meta?.["error_code"], runs], [true, 4003, 0])
      assert.include(firstText({ content }), "\n- /a: must be a number\n- /b: is required")
      assert.deepStrictEqual(checked, [[{ type: "object" }, {}]])
    })
  )

  it.effect("runs a tool whose schema is unusable, and warns once about it", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(message))
      const check = () => Effect.fail(new InvalidSchema({ message: "no schema" }))
      const { call } = yield* Effect.provideService(callsOn([tool("t"), tool("u")]), SchemaValidator, { check })
      for (const [id, name] of [
        ["r1", "t"],
        ["r2", "t"],
        ["r3", "u"]
      ] as const) {
        assert.isFalse((yield* Effect.provide(call(request(id, name)), Logger.layer([logger]))).isError)
      }
      assert.deepStrictEqual(
        lines,
        ["t", "u"].map((name) => ["tool schema invalid, parameters not validated", { tool: name, reason: "no schema" }])
      )
    })
  )

  it.effect("runs no script for a server without one", () =>
    Effect.gen(function* () {
      const { call } = yield* Effect.provideService(callsOn([tool("t")]), VrlEngine, {
        check: () => Effect.undefined,
        run: () => Effect.die(new Error("a script ran"))
      })
      assert.isFalse((yield* call(request("r1", "t"))).isError)
    })
  )

  it.effect.each([
    ["a call of an Agent", 2],
    ["a call of an Agent", 90],
    ["a task", 2],
    ["a task", 90],
    ["a call of the Computer", 2],
    ["a call of the Computer", 90],
    ["a call of the Computer without a timeout", 60]
  ] as const)("runs %s for %i seconds", ([kind, timeout]) =>
    Effect.gen(function* () {
      const { call, callLocally, tasks } = yield* callsOn([tool("t", () => Effect.never)])
      const run = {
        "a call of an Agent": call({ ...request("r1", "t"), timeout }),
        "a call of the Computer": callLocally({ tool: "t", params: {}, timeout: Duration.seconds(timeout) }),
        "a call of the Computer without a timeout": callLocally({ tool: "t", params: {} }),
        "a task": Effect.gen(function* () {
          yield* tasks.start({ id: "r1", tool: "t", params: {}, timeout, caller: ada })
          const { result } = yield* tasks.get(ada, { id: "r1", seen: 1, wait: 3600 })
          return result
        })
      }[kind]
      const running = yield* Effect.forkChild(run, { startImmediately: true })
      yield* TestClock.adjust(timeout * 1000 - 1)
      assert.isUndefined(running.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.deepInclude((yield* Fiber.join(running))?.meta, { a2c_timeout: true })
    })
  )

  it.effect("adds the event of the server's script, which gets the tool's own name, to a result", () =>
    Effect.gen(function* () {
      const events: Array<JsonObject> = []
      const run = (script: string, event: JsonObject) => {
        events.push({ script, ...event })
        return Effect.succeed({ seen: true })
      }
      const more = { vrl: ".x = 1", tool_meta: { t: { alias: "u", auto_apply: true } } }
      const { call } = yield* Effect.provideService(callsOn([tool("t")], {}, more), VrlEngine, {
        check: () => Effect.undefined,
        run
      })
      const { meta } = yield* call({ ...request("r1", "u"), params: { p: 1 } })
      assert.deepStrictEqual(meta, { a2c_vrl_transformed: '{"seen":true}' })
      assert.deepInclude(events[0], { script: ".x = 1", tool_name: "t", parameters: { p: 1 } })
    })
  )

  it.effect("returns the result without the event when the script exceeds the timeout of the call", () =>
    Effect.gen(function* () {
      const { call } = yield* Effect.provideService(callsOn([tool("t")], {}, { vrl: ".x = 1" }), VrlEngine, {
        check: () => Effect.succeed(undefined),
        run: () => Effect.never
      })
      const calling = yield* Effect.forkChild(call(request("r1", "t")))
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual<unknown>(yield* Fiber.join(calling), { ...textResult("t"), isError: false })
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

  it.effect("cancels a call whose confirmation is interrupted", () =>
    Effect.gen(function* () {
      const { call } = yield* callsOn([tool("t")], { confirm: () => Effect.interrupt })
      assert.deepInclude((yield* call(request("r1", "t"))).meta, { a2c_cancelled: true })
    })
  )

  it.effect("needs consent to a local call only in the name of a requester", () =>
    Effect.gen(function* () {
      const { callLocally } = yield* callsOn([tool("t")], { confirm: () => Effect.succeed(false) })
      const call = { tool: "t", params: {} }
      assert.isFalse((yield* callLocally(call)).isError)
      assert.strictEqual(errorCodeOf(yield* callLocally({ ...call, requester: "editor" })), 4005)
    })
  )

  it.effect("fails with 4005 when the confirmation exceeds the timeout of the call", () =>
    Effect.gen(function* () {
      const settings = { confirm: () => Effect.never, approvalTimeout: Duration.hours(1) }
      const { call } = yield* callsOn([tool("t")], settings)
      const calling = yield* Effect.forkChild(call(request("r1", "t")))
      yield* TestClock.adjust("597 seconds")
      assert.isUndefined(calling.pollUnsafe())
      // The result arrives before the timeout of the caller.
      yield* TestClock.adjust("1 second")
      assert.strictEqual(errorCodeOf(yield* Fiber.join(calling)), 4005)
    })
  )

  it.effect("counts the time of the confirmation as time of the call when its caller does not wait on", () =>
    Effect.gen(function* () {
      const { hanging, stopped } = yield* hangingTool("t")
      const confirm = () => Effect.delay(Effect.succeed(true), "9 minutes")
      const { call } = yield* callsOn([hanging], { confirm, approvalTimeout: Duration.hours(1) })
      const calling = yield* Effect.forkChild(call(request("r1", "t")))
      yield* TestClock.adjust("9 minutes")
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust("1 minute")
      const { isError, meta } = yield* Fiber.join(calling)
      assert.deepStrictEqual([isError, meta], [true, { error_code: 4004, timeout: true, a2c_timeout: true }])
      yield* stopped
    })
  )

  it.effect("tells the Agent of a decision that comes before the Server acknowledges the wait", () =>
    Effect.gen(function* () {
      const reports: Array<CallStatus> = []
      const report: CallReporter["report"] = ({ status }) => Effect.sync(() => void reports.push(status))
      const confirm = () => Effect.delay(Effect.succeed(true), "1 second")
      const { call } = yield* callsOn([tool("t")], { confirm }, {}, { report, announceWait: () => Effect.never })
      const calling = yield* Effect.forkChild(call(request("r1", "t")))
      yield* TestClock.adjust("1 second")
      assert.isFalse((yield* Fiber.join(calling)).isError)
      assert.deepStrictEqual(reports, [{ _tag: "Decided", computer: "pc-1", isAllowed: true, by: "program" }])
    })
  )

  it.effect("returns an error result for a defect of a local call", () =>
    Effect.gen(function* () {
      const { callLocally } = yield* callsOn([tool("t", () => Effect.die(new Error("a bug")))])
      const result = yield* callLocally({ tool: "t", params: {}, timeout: Duration.seconds(1) })
      assert.deepStrictEqual(result.content, [{ type: "text", text: "Internal error" }])
    })
  )

  const mebi = 1024 * 1024
  const nested = (text: string) => textResult("big", { structuredContent: { a: { b: { c: { d: { text } } } } } })

  it.effect.each<[string, number, (text: string) => JsonObject, ReadonlyArray<string>]>([
    ["by size, counting nested texts", 17 * mebi, nested, ["r1", "r2", "r3", "r1"]],
    ["and no more than the limit of their size requires", 12 * mebi, textResult, ["r1", "r2", "r3", "r4", "r3"]]
  ])("evicts results %s", ([, length, resultOf, reqIds]) =>
    Effect.gen(function* () {
      let runs = 0
      const result = resultOf("x".repeat(length))
      const { call } = yield* callsOn([tool("big", () => Effect.sync(() => (runs++, result)))])
      for (const reqId of reqIds) yield* call(request(reqId, "big"))
      assert.strictEqual(runs, 4)
    })
  )

  it.effect("fails with 400 when a request id was used for another tool or other parameters", () =>
    Effect.gen(function* () {
      const { call } = yield* callsOn([tool("t"), tool("u")])
      yield* call(request("r1", "t"))
      for (const other of [request("r1", "u"), { ...request("r1", "t"), params: { x: 1 } }]) {
        assert.strictEqual((yield* Effect.flip(call(other))).code, 400)
      }
      assert.isFalse((yield* call({ ...request("r1", "u"), agent: "b" })).isError)
    })
  )

  it.effect("cancels a call that its own execution cancels", () =>
    Effect.gen(function* () {
      const calls: { cancel?: (reqId: string) => Effect.Effect<void> } = {}
      const t = tool("t", () => Effect.as(calls.cancel?.("r1") ?? Effect.void, textResult("done")))
      const made = yield* callsOn([t])
      calls.cancel = made.cancel
      assert.deepInclude((yield* made.call(request("r1", "t"))).meta, { a2c_cancelled: true })
    })
  )
})

describe("tool that changes while the parameters are validated", () => {
  const rejects = (title: string, change: (given: Changing) => Effect.Effect<unknown>) =>
    it.effect(`is not called when ${title}`, () =>
      Effect.gen(function* () {
        const given = yield* changing
        const calling = yield* Effect.forkChild(given.callLocally({ tool: "t", params: {} }))
        yield* runPending
        yield* change(given)
        yield* runPending
        yield* Deferred.succeed(given.validated, [])
        assert.strictEqual(errorCodeOf(yield* Fiber.join(calling)), 4002)
        assert.deepStrictEqual(given.ran, [])
      })
    )

  rejects("it is removed", ({ alpha }) => alpha.setTools([]))
  rejects("another server offers the name", ({ alpha, beta, noted }) =>
    Effect.andThen(alpha.setTools([]), beta.setTools([noted("t")]))
  )
  rejects("another tool of its server gets the name", ({ supervisor }) =>
    supervisor.reconfigure(
      setupOf(["alpha", "beta"], { configure: { alpha: { tool_meta: { u: { alias: "t" }, t: { alias: "v" } } } } })
    )
  )

  it.effect("is called when it is unchanged", () =>
    Effect.gen(function* () {
      const { callLocally, ran, validated } = yield* changing
      yield* Deferred.succeed(validated, [])
      assert.isFalse((yield* callLocally({ tool: "t", params: {} })).isError)
      assert.deepStrictEqual(ran, ["t"])
    })
  )
})

describe("large integers", () => {
  for (const params of [
    { id: 2 ** 60 },
    { ids: [1, -(2 ** 53)] },
    { filter: { block: 2 ** 64 } },
    { "a/b": 1.5e20 }
  ] as ReadonlyArray<JsonObject>) {
    it.effect(`rejects the arguments ${JSON.stringify(params)}`, () =>
      Effect.gen(function* () {
        let called = 0
        const { call } = yield* callsOn([tool("t", () => Effect.sync(() => (called++, textResult("t"))))])
        const result = yield* call({ ...request("r1", "t"), params })
        assert.isTrue(result.isError)
        assert.match(firstText(result), /integers beyond ±9007199254740991 lose digits .*: pass them as text\.\n- \//)
        assert.strictEqual(called, 0)
      })
    )
  }

  it.effect("marks them in a result", () =>
    Effect.gen(function* () {
      const large = { content: [], structuredContent: { items: [{ id: 2 ** 60 }, { id: 7 }] }, _meta: { a2c_x: 1 } }
      const small = { content: [], structuredContent: { id: Number.MAX_SAFE_INTEGER } }
      const { call } = yield* callsOn([
        tool("large", () => Effect.succeed(large)),
        tool("small", () => Effect.succeed(small))
      ])
      assert.deepStrictEqual((yield* call(request("r1", "large"))).meta, {
        a2c_rounded_integers: ["/structuredContent/items/0/id"]
      })
      assert.isUndefined((yield* call(request("r2", "small"))).meta)
    })
  )
})
