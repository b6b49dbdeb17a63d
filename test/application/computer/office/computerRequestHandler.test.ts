import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { asked } from "../stage.ts"

const codeIn = (answer: unknown): unknown => {
  const text = JSON.stringify(answer)
  return /"code":(\d+)/.exec(text)?.[1]
}

const call = { tool_name: "t", params: {}, timeout: 5 }

/** A Computer with one tool that counts its runs. */
const stage = Effect.gen(function* () {
  const runs = { count: 0 }
  const t = tool("t", () => Effect.sync(() => (runs.count++, textResult("ran"))))
  const alpha = yield* makeMemoryMcpServer({ tools: [t] })
  return { ask: yield* asked({ alpha }, { alpha: { default_tool_meta: { auto_apply: true } } }), runs }
})

describe("computerRequestHandler", () => {
  it.effect("case 139: rejects a call for another Computer", () =>
    Effect.gen(function* () {
      const { ask, runs } = yield* stage
      const answer = yield* ask("client:tool_call", { ...call, computer: "pc-2" })
      assert.deepStrictEqual([codeIn(answer), runs.count], ["404", 0])
      yield* ask("client:tool_call", call)
      assert.strictEqual(runs.count, 1)
    })
  )

  it.effect("case 218: rejects malformed requests", () =>
    Effect.gen(function* () {
      const { ask, runs } = yield* stage
      const bad: ReadonlyArray<object> = [
        ...["agent", "req_id", "computer", "tool_name", "params", "timeout"].map((field) => ({
          [field]: undefined
        })),
        { params: [] },
        { timeout: "5" },
        { timeout: 0 },
        { req_id: 7 },
        { agent: "" }
      ]
      for (const fields of bad) {
        assert.strictEqual(codeIn(yield* ask("client:tool_call", { ...call, ...fields })), "400")
      }
      for (const event of ["client:get_tools", "client:get_config", "client:get_desktop"]) {
        assert.strictEqual(codeIn(yield* ask(event, { agent: 3 })), "400")
      }
      assert.strictEqual(runs.count, 0)
    })
  )
})
