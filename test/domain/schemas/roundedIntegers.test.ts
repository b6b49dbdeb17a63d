import { Ajv2020 } from "ajv/dist/2020.js"
import { assert, describe, it } from "@effect/vitest"
import { parseJsonObject, type JsonObject } from "../../../src/domain/json.ts"
import { withoutRoundedIntegers } from "../../../src/domain/schemas/roundedIntegers.ts"

const parsed = (text: string): JsonObject => parseJsonObject(text) ?? assert.fail("not an object")

/** Beyond 2^53, and exact, so that a validator compares it. */
const large = 9007199254740994

const constraints: ReadonlyArray<JsonObject> = [
  { const: large },
  { enum: [1, large] },
  { minimum: large },
  { exclusiveMinimum: large },
  { maximum: -large },
  { exclusiveMaximum: -large },
  { multipleOf: large }
]

// oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
const consequence = (schema: JsonObject): JsonObject => Object.fromEntries([["then", schema]])

/** Schemas around a constraint, each accepting more values the more its part refuses, or the other way round. */
const surroundings: ReadonlyArray<(part: JsonObject) => JsonObject> = [
  (part) => part,
  (part) => ({ properties: { a: part }, unevaluatedProperties: false }),
  (part) => ({ properties: { if: part, not: part, enum: part } }),
  (part) => ({ items: part }),
  (part) => ({ not: part }),
  (part) => ({ not: { items: { not: { properties: { a: part } } } } }),
  (part) => ({ oneOf: [part, { type: "number" }] }),
  (part) => ({ allOf: [{ type: "number" }], oneOf: [{ type: "string" }, part, { const: 3 }] }),
  (part) => ({ if: part, ...consequence({ type: "string" }) }),
  (part) => ({ if: part, else: { type: "string" } }),
  (part) => ({
    if: { properties: { a: part }, required: ["a"] },
    ...consequence({ properties: { b: true } }),
    else: { properties: { c: true } },
    unevaluatedProperties: false
  }),
  (part) => ({ contains: part, minContains: 0, maxContains: 1 }),
  (part) => ({ $defs: { big: part }, not: { $ref: "#/$defs/big" } }),
  (part) => ({ $defs: { big: part }, oneOf: [{ $ref: "#/$defs/big" }, { type: ["number", "object"] }] }),
  (part) => ({ shared: { big: part }, items: { $ref: "#/shared/big" } }),
  (part) => ({ dependentSchemas: { a: { properties: { b: part } } } })
]

const scalars = [1, 3, large, -large, 2 * large, "text"]
const values = [
  ...scalars,
  ...scalars.flatMap((one) => [[one], [one, one, 1], { a: one }, { a: one, b: 1 }, { a: one, c: 1 }, { b: one, a: 1 }])
]

const ajv = new Ajv2020({ strict: false, addUsedSchema: false })

describe("withoutRoundedIntegers", () => {
  it.each([
    ["default", '{"type":"integer","default":1917043659912705296}', { type: "integer" }],
    ["default", '{"default":{"ids":[9007199254740993]},"title":"t"}', { title: "t" }],
    ["enum", '{"enum":[null,9007199254740993]}', {}],
    ["const", '{"const":-9007199254740993}', {}],
    ["minimum", '{"minimum":-9223372036854775808,"maximum":10}', { maximum: 10 }],
    ["maximum", '{"minimum":0,"maximum":18446744073709551615}', { minimum: 0 }],
    ["exclusiveMinimum", '{"exclusiveMinimum":9007199254740992}', {}],
    ["exclusiveMaximum", '{"exclusiveMaximum":18446744073709551616}', {}],
    ["multipleOf", '{"multipleOf":1000000000000000001}', {}],
    ["maxLength", '{"maxLength":9223372036854775807}', {}],
    ["examples", '{"examples":[1,9007199254740993],"type":"integer"}', { type: "integer" }],
    ["x-ids", '{"x-ids":[[9007199254740993]],"type":"integer"}', { type: "integer" }]
  ])("leaves out %s of %s", (keyword, text, expected) =>
    assert.deepStrictEqual(withoutRoundedIntegers(parsed(text)), { value: expected, places: [`/${keyword}`] })
  )

  it.each([
    '{"default":9007199254740991,"minimum":-9007199254740991}',
    '{"maximum":1e300,"multipleOf":0.01,"default":1.5}',
    '{"enum":["1917043659912705296"],"description":"up to 18446744073709551615"}',
    '{"properties":{"default":{"type":"integer"}}}'
  ])("keeps %s", (text) => {
    const schema = parsed(text)
    assert.strictEqual(withoutRoundedIntegers(schema).value, schema)
  })

  it("names each place by its JSON pointer, at any depth", () => {
    const item = parsed(
      '{"size":9223372036854775807,"inputSchema":{"properties":{"a/b":{"anyOf":[{"maximum":9007199254740993},{}]}}}}'
    )
    assert.deepStrictEqual(withoutRoundedIntegers(item), {
      value: { inputSchema: { properties: { "a/b": { anyOf: [{}, {}] } } } },
      places: ["/size", "/inputSchema/properties/a~1b/anyOf/0/maximum"]
    })
  })

  it("keeps properties with the names of keywords", () => {
    const part = { default: large }
    const { value } = withoutRoundedIntegers({ properties: { default: part, enum: part, not: part } })
    assert.deepStrictEqual(value, { properties: { default: {}, enum: {}, not: {} } })
  })

  it("changes no other keyword for an annotation that it leaves out", () => {
    const { value } = withoutRoundedIntegers({ oneOf: [{ default: large, type: "string" }, { $ref: "#/$defs/a" }] })
    assert.deepStrictEqual(value, { oneOf: [{ type: "string" }, { $ref: "#/$defs/a" }] })
  })

  for (const [index, surround] of surroundings.entries()) {
    for (const constraint of constraints) {
      const schema = surround(constraint)
      it(`refuses no value that ${JSON.stringify(schema)} accepts (${index})`, () => {
        const accepts = ajv.compile(schema)
        const { places, value: exact } = withoutRoundedIntegers(schema)
        const acceptsExact = ajv.compile(exact)
        assert.isNotEmpty(places)
        assert.notInclude(JSON.stringify(exact), String(large))
        const refused = values.filter((value) => accepts(value) && !acceptsExact(value))
        assert.deepStrictEqual(refused, [])
      })
    }
  }
})
