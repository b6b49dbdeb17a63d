import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { ToolResult } from "../../../src/domain/model/ToolResult.ts"
import {
  addTransformedEvent,
  vrlScript,
  transformedEventKey,
  toVrlEvent
} from "../../../src/domain/tools/vrl.ts"

const Json = Schema.Record(Schema.String, Schema.Json)
const Results = Schema.StructWithRest(
  Schema.Struct({ content: Schema.Array(Json), isError: Schema.Boolean, meta: Schema.optionalKey(Json) }),
  [Json]
)

describe("vrl", () => {
  it.prop("what a tool said stays as it is", [Results, Schema.Json], ([result, event]) => {
    const before = structuredClone(result)
    const { meta, ...rest } = addTransformedEvent(result, event)
    const { [transformedEventKey]: text, ...others } = meta ?? {}
    const { meta: own, ...said } = result
    const { [transformedEventKey]: _, ...kept } = own ?? {}
    assert.deepStrictEqual(rest, said)
    assert.deepStrictEqual(others, kept)
    assert.strictEqual(text, JSON.stringify(event))
    assert.deepStrictEqual(result, before)
  })

  it("a script sees the whole result and the call it belongs to", () => {
    const result: ToolResult = {
      content: [{ type: "text", text: "hi" }],
      isError: true,
      structuredContent: { n: 1 },
      meta: { k: 1 },
      vendor: 2
    }
    assert.deepStrictEqual(toVrlEvent(result, { tool: "read", params: { path: "/" } }), {
      content: [{ type: "text", text: "hi" }],
      isError: true,
      structuredContent: { n: 1 },
      meta: { k: 1 },
      vendor: 2,
      tool_name: "read",
      parameters: { path: "/" }
    })
  })

  it("a tool cannot forge the call", () => {
    const result: ToolResult = { content: [], isError: false, tool_name: "forged", parameters: 1 }
    assert.deepStrictEqual(toVrlEvent(result, { tool: "read", params: {} }), {
      content: [],
      isError: false,
      tool_name: "read",
      parameters: {}
    })
  })

  it("null and blank text are no script", () => {
    assert.deepStrictEqual([null, "", " \n\t"].map(vrlScript), [undefined, undefined, undefined])
    assert.strictEqual(vrlScript(" .a = 1 "), " .a = 1 ")
  })
})
