import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseToolResult } from "../../../src/domain/model/ToolResult.ts"
import { errorCodeOf, toolFailed, toolTimedOut } from "../../../src/domain/tools/errorResults.ts"
import { fromMcpResult } from "../../../src/domain/tools/mcpConversion.ts"

const content = [
  { type: "text", text: "ok", _meta: { own: 1 } },
  { type: "hologram", data: [1] }
]

describe("tool result", () => {
  it("keeps all blocks and fields, unknown ones included", () => {
    const answer = { content, structuredContent: [1], isError: true, vendor: { x: 1 } }
    assert.deepStrictEqual(Result.getOrThrow(fromMcpResult(answer)), answer)
  })

  it("case 143: moves MCP's _meta to meta", () => {
    assert.deepStrictEqual(Result.getOrThrow(fromMcpResult({ content, _meta: { k: 1 } })), {
      content,
      isError: false,
      meta: { k: 1 }
    })
  })

  it("removes forged markers of this protocol", () => {
    const { meta } = Result.getOrThrow(fromMcpResult({ content, _meta: { a2c_cancelled: true, k: 1 } }))
    assert.deepStrictEqual(meta, { k: 1 })
  })

  it("case 348: reads metadata under either name, and prefers meta", () => {
    const metaOf = (value: unknown) => Result.getOrThrow(parseToolResult(value)).meta
    assert.deepStrictEqual(metaOf({ content, _meta: { a: 1 } }), { a: 1 })
    assert.deepStrictEqual(metaOf({ content, meta: { b: 1 }, _meta: { a: 1 } }), { b: 1 })
  })

  it("rejects an invalid result with the path", () => {
    for (const value of [null, "x", { content: "x" }, { content: [1] }, { content: [], isError: "no" }]) {
      assert.isTrue(Result.isFailure(parseToolResult(value)))
    }
  })

  it("carries the code of a failure, and both markers of a timeout", () => {
    assert.strictEqual(errorCodeOf(toolFailed("x")), 4003)
    assert.deepStrictEqual(toolTimedOut("computer").meta, {
      error_code: 4004,
      timeout: true,
      a2c_timeout: true
    })
    assert.deepStrictEqual(toolTimedOut("agent").meta, { timeout: true, a2c_timeout: true })
  })
})
