import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { canonicalJson, checkJsonBody, maxJsonDepth, formatSpacedJson } from "../../src/domain/json.ts"

const nested = (depth: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** The same value with the members of its outermost object in the opposite order. */
const turned = (value: { readonly [name: string]: unknown }) =>
  Object.fromEntries(Object.entries(value).reverse())

describe("checkJsonBody", () => {
  it.prop("accepts whatever JSON can say, but for one name", [Schema.Json], ([value]) => {
    const text = JSON.stringify(value)
    assert.strictEqual(checkJsonBody(JSON.parse(text)) === undefined, !text.includes('"__proto__":'))
  })

  it("accepts nesting up to the limit and no further", () => {
    assert.strictEqual(checkJsonBody(nested(maxJsonDepth)), undefined)
    assert.match(checkJsonBody(nested(maxJsonDepth + 1)) ?? "", /nested deeper/)
  })

  it("answers hostile nesting without exhausting the stack", () => {
    assert.match(checkJsonBody(nested(1_000_000)) ?? "", /nested deeper/)
  })

  it("refuses binary, wherever it stands", () => {
    for (const binary of [new Uint8Array(3), new ArrayBuffer(3), Buffer.from("x")]) {
      assert.match(checkJsonBody(binary) ?? "", /binary/)
      assert.match(checkJsonBody({ params: [binary] }) ?? "", /binary/)
    }
  })

  it("refuses a member named __proto__, and only as a name", () => {
    assert.match(checkJsonBody(JSON.parse('{"a":[{"__proto__":{"x":1}}]}')) ?? "", /__proto__/)
    assert.strictEqual(checkJsonBody({ name: "__proto__", constructor: 1 }), undefined)
  })
})

describe("formatSpacedJson", () => {
  it.prop("says the same as JSON.stringify", [Schema.Json], ([value]) => {
    assert.deepStrictEqual(JSON.parse(formatSpacedJson(value)), JSON.parse(JSON.stringify(value)))
  })

  it("has the seed's separators and escapes", () => {
    assert.strictEqual(
      formatSpacedJson({ a: [1, true, null], ü: "電\n\u007f" }),
      String.raw`{"a": [1, true, null], "\u00fc": "\u96fb\n\u007f"}`
    )
  })
})

describe("canonical JSON", () => {
  it("sorts members at every depth and leaves out white space", () => {
    assert.strictEqual(
      canonicalJson({ b: [{ y: 1, x: "ü" }], a: null, "": true }),
      '{"":true,"a":null,"b":[{"x":"ü","y":1}]}'
    )
  })

  it("writes numbers as ECMAScript does", () => {
    assert.strictEqual(canonicalJson([1.0, 1e21, 0.000001, -0]), "[1,1e+21,0.000001,0]")
  })

  it("leaves out what JSON cannot hold, as JSON does", () => {
    assert.strictEqual(canonicalJson({ a: undefined, b: [undefined] }), '{"b":[null]}')
  })

  it.prop(
    "is the same for equal values and says the same as their JSON",
    [Schema.Record(Schema.String, Schema.Json)],
    ([value]) => {
      const text = canonicalJson(value)
      assert.strictEqual(canonicalJson(turned(value)), text)
      assert.isTrue(isDeepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(value))))
    }
  )
})
