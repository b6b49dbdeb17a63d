import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { canonicalJson } from "../../src/domain/canonicalJson.ts"

/** The same value with the members of its outermost object in the opposite order. */
const turned = (value: { readonly [name: string]: unknown }) =>
  Object.fromEntries(Object.entries(value).reverse())

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
