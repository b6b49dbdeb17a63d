import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { convertArguments } from "../../../../src/main/cli/arguments/argumentSource.ts"

const schema: JsonObject = {
  type: "object",
  properties: {
    count: { type: "integer" },
    ratio: { type: "number" },
    loud: { type: "boolean" },
    text: { type: "string" },
    tags: { type: "array", items: { type: "string" } },
    filter: { type: "object" },
    limit: { anyOf: [{ type: "integer" }, { type: "null" }] },
    mixed: { type: ["string", "integer"] },
    level: { $ref: "#/$defs/Level" },
    free: {}
  },
  $defs: { Level: { enum: [1, 2, "high"] } },
  additionalProperties: false
}

const convert = (key: string, text: string, given: JsonObject = schema) =>
  Result.map(convertArguments(given, [{ key, text }]), (params) => params[key])

describe("convertArguments", () => {
  for (const [key, text, value] of [
    ["count", "3", 3],
    ["count", "3.5", "3.5"],
    ["count", "12345678901234567890", "12345678901234567890"],
    ["ratio", "-1.5e3", -1500],
    ["loud", "true", true],
    ["loud", "no", false],
    ["text", "true", "true"],
    ["text", "007", "007"],
    ["text", "", ""],
    ["text", '{"a": 1}', '{"a": 1}'],
    ["tags", '["a", "b"]', ["a", "b"]],
    ["tags", "a", ["a"]],
    ["filter", '{"a": {"b": 1}}', { a: { b: 1 } }],
    ["filter", "a", "a"],
    ["limit", "5", 5],
    ["limit", "null", null],
    ["mixed", "5", "5"],
    ["level", "2", 2],
    ["level", "high", "high"],
    ["free", "5", "5"]
  ] as const) {
    it(`converts ${key}=${text} by its schema`, () => {
      assert.deepStrictEqual(convert(key, text), Result.succeed(value))
    })
  }

  it("keeps JSON values as they are", () => {
    const given = [
      { key: "mixed", json: 5 },
      { key: "count", json: "5" }
    ]
    assert.deepStrictEqual(convertArguments(schema, given), Result.succeed({ mixed: 5, count: "5" }))
  })

  it("is short about an unknown key of a large schema, and about a long key", () => {
    const properties = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`property-${at}`, {}]))
    const message = Result.merge(convert("z".repeat(10_000), "1", { type: "object", properties }))
    assert.match(String(message), /^has no argument 'z{256}…': it has property-0, .* and 29\d\d more$/)
    assert.isBelow(String(message).length, 1000)
  })

  it("rejects an unknown key, unless the schema accepts further ones", () => {
    assert.deepStrictEqual(convert("coun", "1"), Result.fail("has no argument 'coun': did you mean 'count'?"))
    const small = { type: "object", properties: { text: { type: "string" } } }
    assert.deepStrictEqual(convert("zzz", "1", small), Result.fail("has no argument 'zzz': it has text"))
    for (const open of [
      { ...small, additionalProperties: { type: "integer" } },
      { ...small, additionalProperties: true, patternProperties: {} },
      { type: "object" },
      {}
    ]) {
      assert.isTrue(Result.isSuccess(convert("zzz", "1", open)))
    }
    assert.deepStrictEqual(
      convert("n", "1", { ...small, additionalProperties: { type: "integer" } }),
      Result.succeed(1)
    )
  })

  it("treats names of object members as ordinary keys", () => {
    assert.isTrue(Result.isFailure(convert("__proto__", "1")))
    assert.isTrue(Result.isFailure(convert("constructor", "1")))
  })
})
