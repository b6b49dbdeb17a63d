import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { canonicalJson, checkJsonBody, maxJsonDepth, formatSpacedJson } from "../../src/domain/json.ts"

const nested = (depth: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** The same object with its members in the opposite order. */
const withReversedMembers = (value: { readonly [name: string]: unknown }) =>
  Object.fromEntries(Object.entries(value).reverse())

describe("checkJsonBody", () => {
  it.prop("accepts any JSON except members named __proto__", [Schema.Json], ([value]) => {
    const text = JSON.stringify(value)
    assert.strictEqual(checkJsonBody(JSON.parse(text)) === undefined, !text.includes('"__proto__":'))
  })

  it("accepts nesting up to the limit", () => {
    assert.strictEqual(checkJsonBody(nested(maxJsonDepth)), undefined)
    assert.match(checkJsonBody(nested(maxJsonDepth + 1)) ?? "", /nested deeper/)
  })

  it("rejects hostile nesting without exhausting the stack", () => {
    assert.match(checkJsonBody(nested(1_000_000)) ?? "", /nested deeper/)
  })

  it("rejects binary data at every depth", () => {
    for (const binary of [new Uint8Array(3), new ArrayBuffer(3), Buffer.from("x")]) {
      assert.match(checkJsonBody(binary) ?? "", /binary/)
      assert.match(checkJsonBody({ params: [binary] }) ?? "", /binary/)
    }
  })

  it("rejects a member named __proto__, but accepts it as a value", () => {
    assert.match(checkJsonBody(JSON.parse('{"a":[{"__proto__":{"x":1}}]}')) ?? "", /__proto__/)
    assert.strictEqual(checkJsonBody({ name: "__proto__", constructor: 1 }), undefined)
  })
})

describe("formatSpacedJson", () => {
  it.prop("encodes the same value as JSON.stringify", [Schema.Json], ([value]) => {
    assert.deepStrictEqual(JSON.parse(formatSpacedJson(value)), JSON.parse(JSON.stringify(value)))
  })

  it("uses the seed's separators and escapes", () => {
    assert.strictEqual(
      formatSpacedJson({ a: [1, true, null], ü: "電\n\u007f" }),
      String.raw`{"a": [1, true, null], "\u00fc": "\u96fb\n\u007f"}`
    )
  })
})

describe("canonicalJson", () => {
  it("sorts members at every depth and omits white space", () => {
    assert.strictEqual(
      canonicalJson({ b: [{ y: 1, x: "ü" }], a: null, "": true }),
      '{"":true,"a":null,"b":[{"x":"ü","y":1}]}'
    )
  })

  it("formats numbers like ECMAScript", () => {
    assert.strictEqual(canonicalJson([1.0, 1e21, 0.000001, -0]), "[1,1e+21,0.000001,0]")
  })

  it("omits undefined members like JSON.stringify", () => {
    assert.strictEqual(canonicalJson({ a: undefined, b: [undefined] }), '{"b":[null]}')
  })

  it.prop(
    "gives equal texts for equal values, and encodes the same value as JSON.stringify",
    [Schema.Record(Schema.String, Schema.Json)],
    ([value]) => {
      const text = canonicalJson(value)
      assert.strictEqual(canonicalJson(withReversedMembers(value)), text)
      assert.isTrue(isDeepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(value))))
    }
  )
})
