import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { makeApprovals } from "../../../../src/application/computer/approvals/Approvals.ts"
import { makeToolCalls } from "../../../../src/application/computer/calls/ToolCalls.ts"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import { makeServerSupervisor } from "../../../../src/application/computer/servers/ServerSupervisor.ts"
import { McpConnector, type McpSession, McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import type { CallReport } from "../../../../src/domain/model/CallStatus.ts"
import { errorCodeOf } from "../../../../src/domain/tools/errorResults.ts"
import { tool } from "../../../conformance/members.ts"
import { setupOf } from "../testComputer.ts"
import { officeCaller } from "../../../../src/domain/approvals/Caller.ts"
import { portDefaults } from "../../../portDefaults.ts"

const request = (toolName: string, reqId: string) => ({
  agent: "a",
  computer: "pc-1",
  reqId,
  toolName,
  params: {},
  timeout: 60
})

/** Tool calls on a running server `ready`, and on `slow`, which starts or fails when the test says so. */
const callsOn = Effect.gen(function* () {
  const reports: Array<CallReport> = []
  const ended = yield* Deferred.make<void, McpSessionError>()
  const ready = yield* makeMemoryMcpServer({ tools: [tool("known"), tool("banned")] })
  const slow = yield* makeMemoryMcpServer({ tools: [tool("late")] })
  const connect = (server: string): Effect.Effect<McpSession, McpSessionError, Scope.Scope> =>
    server === "ready" ? ready.connect : Effect.andThen(Deferred.await(ended), slow.connect)
  const common = { default_tool_meta: { auto_apply: true } }
  const setup = setupOf(["ready", "slow"], {
    configure: { ready: { ...common, forbidden_tools: ["banned"] }, slow: common }
  })
  const supervisor = yield* makeServerSupervisor(setup, makeSecrets(), () => Effect.void).pipe(
    Effect.provide(Layer.merge(Inputs.layer(), Layer.succeed(McpConnector, { connect })))
  )
  const calls = yield* Effect.flatMap(makeApprovals("pc-1", supervisor), (approvals) =>
    makeToolCalls({
      approvals,
      computer: "pc-1",
      currentOffice: () => undefined,
      reporter: {
        report: (report) => Effect.sync(() => void reports.push(report)),
        announceWait: () => Effect.succeed(false)
      },
      secrets: makeSecrets(),
      servers: supervisor
    })
  ).pipe(Effect.provide(portDefaults))
  yield* TestClock.adjust(0)
  const start = (name: string, reqId = "r1"): Effect.Effect<Fiber.Fiber<string>, never, Scope.Scope> =>
    Effect.forkScoped(
      Effect.map(Effect.orDie(calls.call(request(name, reqId), officeCaller("a", 1, true))), (result) =>
        result.isError ? `${errorCodeOf(result)}: ${String(result.content[0]?.["text"])}` : "done"
      )
    )
  const dead = new McpSessionError({ reason: "unavailable", message: "it does not start" })
  return { calls, fail: Deferred.fail(ended, dead), ready: Deferred.succeed(ended, undefined), reports, start }
})

const missing = "4001: Tool 'late' not found on this Computer"
const doesNotStart = ". The MCP server slow, which may have it, is failing: it does not start"

describe("call of an unknown tool", () => {
  it.effect("runs once a starting server offers it, and reports once why it waits", () =>
    Effect.gen(function* () {
      const { ready, reports, start } = yield* callsOn
      const calling = yield* start("late")
      yield* TestClock.adjust("30 seconds")
      assert.isUndefined(calling.pollUnsafe())
      assert.deepStrictEqual(reports, [
        { reqId: "r1", agent: "a", status: { _tag: "WaitingForServers", computer: "pc-1", servers: ["slow"] } }
      ])
      yield* ready
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* Fiber.join(calling), "done")
      assert.lengthOf(reports, 1)
    })
  )

  it.effect("does not wait for a known or a forbidden tool", () =>
    Effect.gen(function* () {
      const { reports, start } = yield* callsOn
      const [known, banned] = [yield* start("known"), yield* start("banned", "r2")]
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* Fiber.join(known), "done")
      assert.match(yield* Fiber.join(banned), /^4002: /)
      assert.deepStrictEqual(reports, [])
    })
  )

  it.effect("fails when the last starting server fails, or offers other tools", () =>
    Effect.gen(function* () {
      for (const end of ["fail", "ready"] as const) {
        const given = yield* callsOn
        const [name, reason] = end === "fail" ? ["late", doesNotStart] : ["other", ""]
        const calling = yield* given.start(name)
        yield* TestClock.adjust("1 second")
        assert.isUndefined(calling.pollUnsafe())
        yield* given[end]
        yield* TestClock.adjust(0)
        assert.strictEqual(yield* Fiber.join(calling), missing.replace("late", name) + reason)
      }
    })
  )

  it.effect("names the servers that still start shortly before its timeout", () =>
    Effect.gen(function* () {
      const { start } = yield* callsOn
      const calling = yield* start("late")
      yield* TestClock.adjust("57 seconds")
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(calling), `${missing}; MCP servers that are still starting: slow`)
    })
  )

  it.effect("names a server that failed to start and retries, and does not wait for it", () =>
    Effect.gen(function* () {
      const { fail, start } = yield* callsOn
      yield* fail
      yield* TestClock.adjust("1 minute")
      const calling = yield* start("late")
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* Fiber.join(calling), missing + doesNotStart)
    })
  )

  it.effect("ends when it is cancelled while it waits", () =>
    Effect.gen(function* () {
      const { calls, ready, start } = yield* callsOn
      const calling = yield* start("late")
      yield* TestClock.adjust("1 second")
      yield* calls.cancel("r1", officeCaller("a", 1, true))
      assert.strictEqual(yield* Fiber.join(calling), "undefined: Tool call cancelled")
      yield* ready
      yield* TestClock.adjust("1 second")
      const again = yield* start("late")
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* Fiber.join(again), "undefined: Tool call cancelled")
    })
  )

  it.effect("waits without a report when it is local", () =>
    Effect.gen(function* () {
      const { calls, ready, reports } = yield* callsOn
      const calling = yield* Effect.forkChild(calls.callLocally({ tool: "late", params: {} }))
      yield* TestClock.adjust("1 second")
      yield* ready
      yield* TestClock.adjust(0)
      assert.isFalse((yield* Fiber.join(calling)).isError)
      assert.deepStrictEqual(reports, [])
    })
  )
})
