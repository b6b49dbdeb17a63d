import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { ToolResult } from "../../../src/domain/model/ToolResult.ts"
import {
  addTransformedEvent,
  removeTransformedEvent,
  vrlScript,
  transformedEventKey,
  toVrlEvent
} from "../../../src/domain/tools/vrl.ts"

const Json = Schema.Record(Schema.String, Schema.Json)
const Text = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
const Results = Schema.StructWithRest(
  Schema.Struct({
    content: Schema.Array(Schema.StructWithRest(Text, [Json])),
    isError: Schema.Boolean,
    meta: Schema.optionalKey(Json)
  }),
  [Json]
)

describe("vrl", () => {
  it.prop("keeps the result of the tool", [Results, Schema.Json], ([result, event]) => {
    const before = structuredClone(result)
    const { meta, ...rest } = addTransformedEvent(result, event)
    const { [transformedEventKey]: text, ...others } = meta ?? {}
    const { meta: own, ...printed } = result
    const { [transformedEventKey]: _, ...kept } = own ?? {}
    assert.deepStrictEqual(rest, printed)
    assert.deepStrictEqual(others, kept)
    assert.strictEqual(text, JSON.stringify(event))
    assert.deepStrictEqual(result, before)
  })

  it("passes the whole result and its call to the script, and overwrites a forged call", () => {
    const result: ToolResult = {
      content: [{ type: "text", text: "hi" }],
      isError: true,
      structuredContent: { n: 1 },
      meta: { k: 1 },
      vendor: 2
    }
    const call = { tool_name: "read", parameters: { path: "/" } }
    for (const given of [result, { ...result, tool_name: "forged", parameters: 1 }])
      assert.deepStrictEqual<unknown>(toVrlEvent(given, { tool: "read", params: { path: "/" } }), {
        ...result,
        ...call
      })
  })

  it("has null as the event of a script without one", () =>
    assert.strictEqual(
      addTransformedEvent({ content: [], isError: false }, undefined).meta?.[transformedEventKey],
      "null"
    ))

  it("leaves out the event where both do not fit", () => {
    const result: ToolResult = { content: [], isError: false, meta: { k: 1 } }
    assert.deepStrictEqual(removeTransformedEvent(addTransformedEvent(result, { big: true })), result)
    assert.strictEqual(removeTransformedEvent(result), result)
    const plain: ToolResult = { content: [], isError: false }
    assert.strictEqual(removeTransformedEvent(plain), plain)
  })

  it("ignores null and blank scripts", () => {
    assert.deepStrictEqual([null, "", " \n\t"].map(vrlScript), [undefined, undefined, undefined])
    assert.strictEqual(vrlScript(" .a = 1 "), " .a = 1 ")
  })
})
