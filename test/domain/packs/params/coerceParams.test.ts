import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { z } from "zod"
import { type JsonObject, parseJson } from "../../../../src/domain/json.ts"
import { fillDefaults, coerceForm } from "../../../../src/domain/packs/params/coerceParams.ts"

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more })
const read = (schema: object, value: unknown) => coerceForm(object({ x: schema }), { x: value })["x"]
const nullable = (schema: object) => ({ anyOf: [schema, { type: "null" }] })
const AnyObject = Schema.Record(Schema.String, Schema.Json)

describe("form field", () => {
  it.each([
    [{ type: "string" }, "5", "5"],
    [{ type: "string" }, "", ""],
    [{ type: "integer" }, "5", 5],
    [{ type: "integer" }, " -5 ", -5],
    [{ type: "integer" }, "5.0", 5],
    [{ type: "number" }, "5.25", 5.25],
    [{ type: "number" }, "1e3", 1000],
    [{ type: "number" }, ".5", 0.5],
    [{ type: "integer" }, "12", 12],
    [{ type: "integer" }, "+12.00", 12],
    [{ type: "integer" }, "12.", 12],
    [{ type: "number" }, " 12.25 ", 12.25],
    [{ type: "number" }, "-.25", -0.25],
    [{ type: "number" }, "+1.5e-10", 1.5e-10],
    [{ type: "number" }, "1E+12", 1e12],
    [{ anyOf: [{ type: "array" }, { type: "object" }] }, '{"a":1}', { a: 1 }],
    [{ anyOf: [{ type: "array" }, { type: "object" }] }, "[1]", [1]],
    [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "NULL", null],
    [{ type: "null" }, "", null],
    [{ type: "null" }, "null", null],
    [{ type: "object" }, '{"a":1}', { a: 1 }],
    [{ type: "object", properties: {} }, "{}", {}],
    [{ properties: {} }, "{}", {}],
    [{ type: "array", items: { type: "integer" } }, ["1", "2"], [1, 2]],
    [{ type: "array", items: { type: "integer" } }, "1", [1]],
    [{ type: "array", items: { type: "integer" } }, "[1, 2]", [1, 2]],
    [{ type: "array", items: { type: "string" } }, "a,b", ["a,b"]],
    [{ type: "array", items: { type: "string" } }, "[a", ["[a"]],
    [{ type: "array" }, "", []],
    [{ type: "array", items: { type: "object" } }, ['{"a":1}', "{}"], [{ a: 1 }, {}]],
    [{ type: "array", prefixItems: [{ type: "integer" }, { type: "boolean" }] }, ["1", "1"], [1, true]],
    [{ enum: [1, 2] }, "2", 2],
    [{ type: "integer", enum: [1, 2] }, "2", 2],
    [{ enum: ["1", 1] }, "1", "1"],
    [{ const: true }, "true", true],
    [{}, "5", "5"]
  ])("converts by %j the text %j to %j", (schema, value, expected) => {
    assert.deepStrictEqual(read(schema, value), expected)
  })

  it.each(["true", "1", "on", "yes", "True", "Y", "t"])("parses '%s' as true", (text) => {
    assert.strictEqual(read({ type: "boolean" }, text), true)
  })

  it.each(["false", "0", "off", "no", "False", "N", "f"])("parses '%s' as false", (text) => {
    assert.strictEqual(read({ type: "boolean" }, text), false)
  })

  it.each([
    [{ type: "integer" }, "5.5"],
    [{ type: "integer" }, "five"],
    [{ type: "integer" }, ""],
    [{ type: "integer" }, "0x10"],
    [{ type: "integer" }, "12345678901234567890"],
    [{ type: "number" }, "1e999"],
    [{ type: "number" }, "NaN"],
    [{ type: "number" }, "Infinity"],
    [{ type: "number" }, "x1"],
    [{ type: "number" }, "1x"],
    [{ type: "number" }, "0x1f"],
    [{ type: "number" }, "1 2"],
    [{ type: "number" }, "1e"],
    [{ type: "number" }, "."],
    [{ type: "integer" }, "null"],
    [{ anyOf: [{ type: "integer" }, { type: "null" }] }, "nothing"],
    [{ type: "boolean" }, "maybe"],
    [{ type: "object" }, "{"],
    [{ type: "object" }, "[]"],
    [{ type: "object" }, '{"__proto__":1}'],
    [{ type: "object" }, `${"[".repeat(200)}${"]".repeat(200)}`],
    [{ type: "integer" }, ["1", "2"]],
    [{ type: "integer", enum: [1, 2] }, "x"],
    [false, "5"],
    [{ $ref: "#/$defs/none" }, "5"]
  ])("keeps, by %j, the invalid text %j", (schema, value) => {
    assert.deepStrictEqual(coerceForm(object({ x: schema }), { x: value }), { x: value })
  })

  it.each([
    [nullable({ type: "integer" }), "7", 7],
    [nullable({ type: "integer" }), "", null],
    [nullable({ type: "integer" }), "null", null],
    [nullable({ type: "string" }), "", null],
    [nullable({ type: "string" }), "null", "null"],
    [{ type: ["integer", "null"] }, "", null],
    [{ oneOf: [{ type: "integer" }, { type: "null" }] }, "7", 7],
    [{ anyOf: [{ type: "string", enum: ["auto"] }, { type: "integer" }] }, "7", 7],
    [{ anyOf: [{ type: "string", enum: ["auto"] }, { type: "integer" }] }, "auto", "auto"],
    [{ anyOf: [{ type: "integer" }, { type: "string" }] }, "7", "7"],
    [{ anyOf: [{ type: "string" }, { type: "array", items: {} }] }, "[1]", "[1]"],
    [{ allOf: [{ type: "integer" }, { minimum: 1 }] }, "7", 7],
    [z.toJSONSchema(z.number().int().optional()), "7", 7],
    [z.toJSONSchema(z.boolean().nullable()), "on", true],
    [z.toJSONSchema(z.literal([1, 2])), "2", 2]
  ])("converts by alternatives %j the text %j to %j", (schema, value, expected) => {
    assert.deepStrictEqual(read(schema, value), expected)
  })

  it("resolves definitions", () => {
    const level = { type: "integer", enum: [1, 2] }
    const schema = object(
      { level: { $ref: "#/$defs/Level" }, levels: { type: "array", items: { $ref: "#/$defs/Level" } } },
      { $defs: { Level: level } }
    )
    assert.deepStrictEqual(coerceForm(schema, { level: "1", levels: ["1", "2"] }), {
      level: 1,
      levels: [1, 2]
    })
  })

  it("finds parameters behind references and in alternatives", () => {
    const $defs = {
      A: object({ kind: { const: "a" }, n: { type: "integer" } }),
      B: object({ on: { type: "boolean" } })
    }
    const schema = { anyOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }], $defs }
    assert.deepStrictEqual(coerceForm(schema, { kind: "a", n: "1", on: "1" }), { kind: "a", n: 1, on: true })
  })

  it("uses additionalProperties for unknown names, and else stays text", () => {
    assert.deepStrictEqual(coerceForm({ type: "object", additionalProperties: { type: "integer" } }, { a: "1" }), {
      a: 1
    })
    assert.deepStrictEqual(coerceForm({ type: "object", additionalProperties: true }, { a: "1" }), { a: "1" })
  })

  it("yields to the default when it is empty", () => {
    const schema = object({
      n: { type: "integer", default: 3 },
      s: { ...nullable({ type: "string" }), default: "x" },
      list: { type: "array", default: ["a"] },
      text: { type: "string", default: "y" }
    })
    assert.deepStrictEqual(coerceForm(schema, { n: "", s: "", list: "", text: "" }), { text: "" })
  })

  it.prop("restores numbers and booleans from their text", [Schema.Finite, Schema.Boolean], ([n, flag]) => {
    assert.equal(read({ type: "number" }, String(n)), n)
    assert.strictEqual(read({ type: "boolean" }, String(flag)), flag)
  })

  it.prop("restores lists and objects from their JSON", [Schema.Array(Schema.Finite), AnyObject], ([list, data]) => {
    const clean = (value: unknown) => parseJson(JSON.stringify(value).replaceAll("__proto__", "proto"))
    assert.deepStrictEqual(read({ type: "array" }, JSON.stringify(list)), clean(list))
    assert.deepStrictEqual(read({ type: "object" }, JSON.stringify(clean(data))), clean(data))
  })

  it.prop("accepts any schema and any form, and adds no names", [AnyObject, AnyObject], ([schema, fields]) => {
    for (const given of [schema, object(schema), { ...object(schema), anyOf: [schema], $ref: "#" }]) {
      assert.includeMembers(Object.keys(fields), Object.keys(coerceForm(given, fields)))
    }
  })
})

describe("schema default", () => {
  const fill = (schema: JsonObject, params: JsonObject) => fillDefaults(schema, params)

  it("fills missing members only", () => {
    const schema = object({
      a: { default: 1 },
      b: { default: 2 },
      c: { default: null },
      d: {},
      e: { default: 0 }
    })
    assert.deepStrictEqual(fill(schema, { b: 7, x: 8, e: null }), { b: 7, x: 8, e: null, a: 1, c: null })
  })

  it("applies behind references, and inside objects and lists", () => {
    const $defs = { Unit: object({ unit: { $ref: "#/$defs/Name" } }), Name: { type: "string", default: "m" } }
    const schema = object(
      {
        one: { $ref: "#/$defs/Unit" },
        many: { items: { $ref: "#/$defs/Unit" } },
        none: nullable($defs.Unit)
      },
      { $defs }
    )
    assert.deepStrictEqual(fill(schema, { one: {}, many: [{}, { unit: "s" }], none: {} }), {
      one: { unit: "m" },
      many: [{ unit: "m" }, { unit: "s" }],
      none: { unit: "m" }
    })
  })

  it("comes from the nearest schema", () => {
    const schema = object({ a: { $ref: "#/$defs/A", default: 1 } }, { $defs: { A: { default: 2 } } })
    assert.deepStrictEqual(fill(schema, {}), { a: 1 })
  })

  it("ignores ambiguous alternatives", () => {
    const schema = { anyOf: [object({ a: { default: 1 } }), object({ b: { default: 2 } })] }
    assert.deepStrictEqual(fill(schema, {}), {})
  })

  it("clones values for every call", () => {
    const stated = [{ n: 1 }]
    const { list } = fill(object({ list: { default: stated } }), {})
    assert.deepStrictEqual(list, stated)
    assert.notStrictEqual(list, stated)
    assert.notStrictEqual([list].flat()[0], stated[0])
  })

  it("ends recursion where the parameters end", () => {
    const schema = {
      $ref: "#/$defs/Node",
      $defs: { Node: object({ n: { default: 0 }, next: { $ref: "#/$defs/Node" } }) }
    }
    assert.deepStrictEqual(fill(schema, { next: { next: {} } }), { n: 0, next: { n: 0, next: { n: 0 } } })
  })

  it.prop("fills idempotently, without modifying the parameters", [AnyObject, AnyObject], ([schema, params]) => {
    const before = JSON.stringify(params)
    for (const given of [schema, object(schema), { ...object(schema), $ref: "#" }]) {
      const filled = fill(given, params)
      assert.deepStrictEqual(fill(given, filled), filled)
    }
    assert.strictEqual(JSON.stringify(params), before)
  })
})
