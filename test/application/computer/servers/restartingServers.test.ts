import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import { errorCodeOf } from "../../../../src/domain/tools/errorResults.ts"
import type { LineName } from "../../../../src/domain/wire/lines.ts"
import { resource, tool } from "../../../conformance/members.ts"
import { firstText } from "../../../firstText.ts"
import { counted, dead, joined, setupOf } from "../testComputer.ts"

const restarting = "MCP server 'alpha' is restarting, try again"
const document = "dpe://h/doc"

/** A Computer in an office whose server `alpha` was lost and starts again in half a second. */
const restartingAlphaOn = Effect.fnUntraced(function* (protocol?: LineName, more: JsonObject = {}) {
  const memory = yield* makeMemoryMcpServer({
    tools: [tool("echo"), tool("banned"), tool("old")],
    resources: [resource("file:///a"), resource(document, ["T"])]
  })
  const alpha = counted(memory)
  const { request, computer } = yield* joined(
    {
      servers: { alpha },
      configure: { alpha: { forbidden_tools: ["banned"], tool_meta: { old: { alias: "renamed" } }, ...more } },
      settings: { resolveDpe: () => Effect.succeed({ uri: "https://x/1" }) }
    },
    undefined,
    protocol
  )
  const call = (name: string) =>
    Effect.map(computer.callTool({ tool: name, params: {} }), (result) => ({
      code: errorCodeOf(result),
      text: firstText(result),
      after: result.meta?.["retry_after"]
    }))
  // Times are of the clock, not of the start of the Computer.
  yield* TestClock.adjust("1 hour")
  yield* memory.crash("exit code 1")
  yield* TestClock.adjust(0)
  return { alpha, request, call, computer }
})

const restartingAlpha = restartingAlphaOn()

describe("an MCP server that is restarting", () => {
  it.effect("fails calls of its tools with a retryable error and the time until it starts", () =>
    Effect.gen(function* () {
      const { call } = yield* restartingAlpha
      for (const name of ["echo", "renamed"]) {
        const { after, code, text } = yield* call(name)
        assert.deepStrictEqual([code, text], [4003, restarting])
        assert.isTrue(typeof after === "number" && after > 0.3 && after <= 0.6, String(after))
      }
      yield* TestClock.adjust("300 millis")
      const { after } = yield* call("echo")
      assert.isTrue(typeof after === "number" && after > 0 && after <= 0.3, String(after))
    })
  )

  it.effect("fails no call of a tool that it did not have, or that is forbidden", () =>
    Effect.gen(function* () {
      const { call } = yield* restartingAlpha
      const codes = yield* Effect.forEach(["gone", "old", "banned"], call)
      const found = codes.map(({ code }) => code)
      assert.deepStrictEqual(found, [4001, 4001, 4001])
    })
  )

  it.effect("fails calls after attempts that failed, and runs them again once it runs", () =>
    Effect.gen(function* () {
      const { alpha, call } = yield* restartingAlpha
      alpha.starts.failure = dead
      yield* TestClock.adjust("10 seconds")
      assert.isAbove(alpha.starts.count, 2)
      assert.strictEqual((yield* call("echo")).text, restarting)
      alpha.starts.failure = undefined
      yield* TestClock.adjust("1 minute")
      assert.isUndefined((yield* call("echo")).code)
    })
  )

  it.effect("fails calls by the names of its present configuration", () =>
    Effect.gen(function* () {
      const { call, computer } = yield* restartingAlpha
      yield* computer.reconfigure(
        setupOf(["alpha"], { configure: { alpha: { tool_meta: { old: { alias: "new" } } } } })
      )
      assert.strictEqual((yield* call("new")).text, restarting)
      assert.strictEqual((yield* call("renamed")).code, 4001)
    })
  )

  it.effect("is unknown once its owner stopped it", () =>
    Effect.gen(function* () {
      const { call, computer } = yield* restartingAlpha
      yield* computer.stop("alpha")
      assert.strictEqual((yield* call("echo")).code, 4001)
    })
  )

  it.effect("is named beside the tools of the others, until it runs", () =>
    Effect.gen(function* () {
      const { request } = yield* restartingAlpha
      const names = Effect.map(request("client:get_tools", {}), (reply) => asObject(reply)["restarting_servers"])
      assert.deepStrictEqual(yield* names, ["alpha"])
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(yield* names)
    })
  )

  it.effect("fails requests for its resources and documents", () =>
    Effect.gen(function* () {
      const { request } = yield* restartingAlpha
      for (const [event, fields] of [
        ["client:get_resources", { mcp_server: "alpha" }],
        ["client:get_dpe", { uri: document }]
      ] as const) {
        const reply = yield* request(event, fields)
        assert.propertyVal(reply, "code", 503)
        assert.propertyVal(reply, "message", restarting)
        assert.property(reply, "retry_after")
      }
      assert.propertyVal(yield* request("client:get_resources", { mcp_server: "beta" }), "code", 404)
    })
  )

  it.effect("fails requests by its identity on a line with bundle IDs, and none by its name", () =>
    Effect.gen(function* () {
      const { request } = yield* restartingAlphaOn("0.3", { bundle_id: "com-x-alpha" })
      const answers = yield* Effect.forEach(["com-x-alpha", "alpha"], (mcp_server) =>
        request("client:get_resources", { mcp_server })
      )
      const found = answers.map((answer) => asObject(answer)["code"])
      assert.deepStrictEqual(found, [503, 4014])
    })
  )
})
