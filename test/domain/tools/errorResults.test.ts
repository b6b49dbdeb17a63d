import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { makeDecoder } from "../../../src/domain/validation.ts"
import { parseToolResult, ToolResult } from "../../../src/domain/model/ToolResult.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { errorCodeOf, toolCancelled, toolFailed, toolTimedOut } from "../../../src/domain/tools/errorResults.ts"
import { fromMcpResult, toMcpResult, toMcpTool } from "../../../src/domain/tools/mcpConversion.ts"

const content: ReadonlyArray<unknown> = [
  { type: "text", text: "ok", _meta: { own: 1 } },
  { type: "hologram", data: [1] }
]

describe("tool result", () => {
  it("keeps all blocks and fields, unknown ones included", () => {
    const answer = { content, structuredContent: [1], isError: true, vendor: { x: 1 } }
    assert.deepStrictEqual<unknown>(Result.getOrThrow(fromMcpResult(answer)), answer)
  })

  it("case 143: moves MCP's _meta to meta", () => {
    const result = Result.getOrThrow(fromMcpResult({ content, _meta: { k: 1 } }))
    assert.deepStrictEqual<unknown>(result, { content, isError: false, meta: { k: 1 } })
  })

  it("case 348: reads metadata under either name, and prefers meta", () => {
    const metaOf = (value: unknown) => Result.getOrThrow(parseToolResult(value)).meta
    assert.deepStrictEqual(metaOf({ content, _meta: { a: 1 } }), { a: 1 })
    assert.deepStrictEqual(metaOf({ content, meta: { b: 1 }, _meta: { a: 1 } }), { b: 1 })
  })

  it("rejects an invalid result with the path", () => {
    for (const value of [null, "x", { content: "x" }, { content: [{}, 1] }, { content: [], isError: "no" }]) {
      assert.isTrue(Result.isFailure(parseToolResult(value)))
    }
  })

  it("has no content and no error by default", () => {
    for (const value of [{}, { isError: null }, { isError: false }]) {
      assert.deepStrictEqual(Result.getOrThrow(parseToolResult(value)), { content: [], isError: false })
    }
  })

  it("encodes only results, unchanged", () => {
    const encode = Schema.encodeUnknownResult(ToolResult)
    const result = { content: [{ type: "text", text: "x" }, { type: "hologram" }], isError: false, vendor: 1 }
    assert.deepStrictEqual(encode(result), Result.succeed(result))
    for (const value of [{ content: [] }, { isError: false }, { content: [1], isError: false }, [], null]) {
      assert.isTrue(Result.isFailure(encode(value)), JSON.stringify(value))
    }
  })

  it("decodes with the reason of a rejection", () => {
    const decode = makeDecoder(ToolResult)
    assert.deepStrictEqual(decode({ content: [] }), Result.succeed({ content: [], isError: false }))
    assert.deepStrictEqual(decode({ content: 1 }), Result.fail("content: expected an array"))
  })

  it("has the text of a failure as its content", () => {
    assert.deepStrictEqual(toolFailed("x", { detail: 1 }), {
      content: [{ type: "text", text: "x" }],
      isError: true,
      meta: { error_code: 4003, detail: 1 }
    })
  })

  it("carries the reason of a cancellation", () => {
    assert.deepStrictEqual(toolCancelled().meta, { a2c_cancelled: true, a2c_cancel_reason: "agent_requested" })
  })

  it("has a code only in a failure, and only as a number", () => {
    const codeOf = (isError: boolean, meta?: JsonObject) =>
      errorCodeOf({ content: [], isError, ...(meta !== undefined && { meta }) })
    const [text, number] = [{ error_code: "4003" }, { error_code: 4003 }]
    const codes = [codeOf(true), codeOf(true, text), codeOf(false, number), codeOf(true, number)]
    assert.deepStrictEqual(codes, [undefined, undefined, undefined, 4003])
  })

  it("becomes a result of MCP with _meta", () => {
    const result = { content: [], isError: false, structuredContent: 2 }
    assert.deepStrictEqual(toMcpResult({ ...result, meta: { k: 1 } }), { ...result, _meta: { k: 1 } })
    assert.deepStrictEqual(toMcpResult({ content: [], isError: true }), { content: [], isError: true })
  })

  it("carries the code of a failure, and both markers of a timeout", () => {
    assert.strictEqual(errorCodeOf(toolFailed("x")), 4003)
    const markers = { timeout: true, a2c_timeout: true }
    assert.deepStrictEqual(toolTimedOut("computer").meta, { error_code: 4004, ...markers })
    assert.deepStrictEqual(toolTimedOut("agent").meta, markers)
  })
})

describe("tool for MCP", () => {
  const tool = { name: "read", description: "Reads", paramsSchema: { properties: {} }, returnSchema: null }

  const published = { name: "pc__read", description: "Reads", inputSchema: { type: "object", properties: {} } }

  it("has a schema of type object, and no parts that the tool lacks", () =>
    assert.deepStrictEqual<unknown>(toMcpTool("pc__read", tool), { ...published, _meta: {} }))

  it("restores annotations and the schema of results, and names its origin", () => {
    const meta = { MCP_TOOL_ANNOTATION: '{"readOnlyHint":true}' }
    const given = { ...tool, returnSchema: { type: "string" }, meta }
    assert.deepStrictEqual<unknown>(toMcpTool("pc__read", given, { a2c_computer: "pc" }), {
      ...published,
      outputSchema: { type: "string" },
      annotations: { readOnlyHint: true },
      _meta: { ...meta, a2c_computer: "pc" }
    })
  })
})
