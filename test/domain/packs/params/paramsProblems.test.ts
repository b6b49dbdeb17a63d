import * as library from "@cfworker/json-schema"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { z } from "zod"
import { makeInterpreter } from "../../../../src/adapters/jsonSchema/interpretSchema.ts"
import { InvalidSchema } from "../../../../src/application/ports/SchemaValidator.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import {
  problemsFromViolations,
  problemsFromStandardIssues
} from "../../../../src/domain/packs/params/paramsProblems.ts"

const compile = makeInterpreter(library)
const problemsOf = (schema: JsonObject, params: unknown) => {
  const check = compile(schema)
  if (check instanceof InvalidSchema) throw check
  return problemsFromViolations(check(params), params)
}
const missing = (...loc: ReadonlyArray<string | number>) => ({
  loc: ["body", ...loc],
  msg: "Field required",
  type: "missing"
})

describe("problem of a JSON Schema validator", () => {
  it("reports a missing parameter like the original", () => {
    const item = { type: "object", required: ["a/b"] }
    const schema = { required: ["text"], properties: { list: { type: "array", items: item } } }
    assert.deepStrictEqual(problemsOf(schema, { list: [{}] }), [missing("text"), missing("list", 0, "a/b")])
  })

  it.each([
    [{ type: "string" }, 1, "string_type"],
    [{ type: "integer" }, "x", "int_type"],
    [{ type: "boolean" }, "x", "bool_type"],
    [{ minimum: 3 }, 1, "greater_than_equal"],
    [{ maxLength: 1 }, "abc", "string_too_long"],
    [{ pattern: "^a" }, "b", "string_pattern_mismatch"],
    [{ enum: ["a"] }, "b", "literal_error"],
    [{ const: "a" }, "b", "literal_error"],
    [{ not: {} }, "b", "value_error"]
  ])("reports %j against %j as %s", (schema, x, type) => {
    const [problem] = problemsOf({ properties: { x: schema } }, { x })
    assert.deepStrictEqual([problem?.loc, problem?.type], [["body", "x"], type])
  })

  it("lists the allowed values", () => {
    assert.match(problemsOf({ properties: { x: { enum: ["a", 1] } } }, { x: 0 })[0]?.msg ?? "", /: \["a",1\]$/)
    assert.match(problemsOf({ properties: { x: { const: "a" } } }, { x: 0 })[0]?.msg ?? "", /: "a"$/)
  })

  it("names an unknown parameter", () => {
    const schema = { properties: {}, additionalProperties: false }
    assert.deepStrictEqual(problemsOf(schema, { "a/b": 1 }), [
      { loc: ["body", "a/b"], msg: "unknown parameter", type: "extra_forbidden" }
    ])
  })

  it("keeps a numeric name in an object as text", () => {
    const deep = { properties: { 0: { type: "string" } } }
    assert.deepStrictEqual(problemsOf({ properties: { x: deep } }, { x: { 0: 1 } })[0]?.loc, ["body", "x", "0"])
  })

  it("gives the index of an item as a number", () => {
    const locOf = (instancePath: string) =>
      problemsFromViolations([{ instancePath, keyword: "type", message: "must be string" }], {
        x: Array.from({ length: 12 })
      })[0]?.loc
    assert.deepStrictEqual(locOf("/x/11"), ["body", "x", 11])
    assert.deepStrictEqual(locOf("/x/11x"), ["body", "x", "11x"])
    assert.deepStrictEqual(locOf("/x/x11"), ["body", "x", "x11"])
  })

  it("names an unevaluated parameter", () => {
    assert.deepStrictEqual(problemsOf({ unevaluatedProperties: false }, { a: 1 }), [
      { loc: ["body", "a"], msg: "unknown parameter", type: "extra_forbidden" }
    ])
  })

  it("unescapes names in pointers", () => {
    const schema = { properties: { "a/b~c": { type: "string" } } }
    assert.deepStrictEqual(problemsOf(schema, { "a/b~c": 1 })[0]?.loc, ["body", "a/b~c"])
  })

  it("stops at the maximum number of problems", () => {
    const list = Array.from({ length: 500 }, () => "x")
    assert.lengthOf(problemsOf({ properties: { list: { items: { type: "integer" } } } }, { list }), 100)
  })
})

describe("problem with a large schema or large arguments", () => {
  const values = Array.from({ length: 3000 }, (_, index) => `value-${index}`)
  const long = "k".repeat(100_000)
  let deep: unknown = 1
  for (let level = 0; level < 100; level++) deep = { ["level".repeat(50)]: deep }

  it("lists the first of many allowed values and counts the others", () => {
    const [problem] = problemsOf({ properties: { x: { enum: values } } }, { x: 0 })
    assert.match(problem?.msg ?? "", /: \["value-0",.*,"value-\d+" and 29\d\d more\]$/)
  })

  it.each([
    ["many allowed values", { properties: { x: { enum: values } } }, { x: 0 }],
    ["a large allowed value", { properties: { x: { enum: [long, "b"] } } }, { x: 0 }],
    ["a large constant", { properties: { x: { const: { values } } } }, { x: 0 }],
    ["a long pattern", { properties: { x: { pattern: "k".repeat(5000) } } }, { x: "a" }],
    ["a long name of a missing parameter", { required: [long] }, {}],
    ["a long name of an unknown parameter", { properties: {}, additionalProperties: false }, { [long]: 1 }],
    [
      "a deep path",
      { $defs: { d: { type: "object", additionalProperties: { $ref: "#/$defs/d" } } }, $ref: "#/$defs/d" },
      deep
    ],
    [
      "many alternatives",
      { properties: { x: { anyOf: values.slice(0, 100).map((value) => ({ const: value })) } } },
      { x: 0 }
    ]
  ])("is short for %s", (_, schema, params) => {
    const problems = problemsOf(schema, params)
    assert.isNotEmpty(problems)
    for (const problem of problems) assert.isBelow(JSON.stringify(problem).length, 1200)
  })

  it("is short for many values of an enumeration of zod", async () => {
    const { issues = [] } = await z.object({ x: z.enum(values) })["~standard"].validate({ x: "other" })
    assert.isBelow(JSON.stringify(problemsFromStandardIssues(issues, { x: "other" })).length, 500)
  })

  it("is short for many values of an Effect Schema", () => {
    const schema = Schema.toStandardSchemaV1(Schema.Struct({ x: Schema.Literals(values) }))
    const result = schema["~standard"].validate({ x: "other" })
    const problems = "issues" in result ? problemsFromStandardIssues(result.issues ?? [], { x: "other" }) : []
    assert.lengthOf(problems, 1)
    assert.isBelow(JSON.stringify(problems).length, 500)
  })
})

describe("problem of a Standard Schema", () => {
  const byZod = async (schema: z.ZodType, params: unknown) => {
    const { issues = [] } = await schema["~standard"].validate(params)
    return problemsFromStandardIssues(issues, params)
  }

  it("reports a missing parameter of zod like the original", async () => {
    const schema = z.object({ text: z.string(), list: z.array(z.object({ n: z.number() })) })
    assert.deepStrictEqual(await byZod(schema, { list: [{}] }), [missing("text"), missing("list", 0, "n")])
  })

  it("keeps the message of zod", async () => {
    const [problem] = await byZod(z.object({ n: z.number() }), { n: "x" })
    assert.deepStrictEqual([problem?.loc, problem?.type], [["body", "n"], "value_error"])
    assert.match(problem?.msg ?? "", /expected number/)
  })

  it("reports a missing parameter of an Effect Schema", () => {
    const schema = Schema.toStandardSchemaV1(Schema.Struct({ text: Schema.String }))
    const result = schema["~standard"].validate({})
    assert.deepStrictEqual("issues" in result ? problemsFromStandardIssues(result.issues ?? [], {}) : result, [
      missing("text")
    ])
  })

  it("is a missing parameter only where an object has no such member", () => {
    const typeAt = (params: unknown, ...path: ReadonlyArray<PropertyKey>) =>
      problemsFromStandardIssues([{ message: "bad", path }], params)[0]?.type
    assert.strictEqual(typeAt({ a: {} }, "a", "b"), "missing")
    assert.strictEqual(typeAt({ a: [] }, "a", 0), "missing")
    assert.strictEqual(typeAt({ a: 1 }, "a", "b"), "value_error")
    assert.strictEqual(typeAt({ a: null }, "a", "b"), "value_error")
    assert.strictEqual(typeAt({}, "toString"), "missing")
    assert.strictEqual(typeAt(undefined), "value_error")
  })

  it("reports at most 100 problems, and symbols by their text", () => {
    const issues = Array.from({ length: 101 }, () => ({ message: "bad", path: [Symbol("s")] }))
    const problems = problemsFromStandardIssues(issues, [])
    assert.lengthOf(problems, 100)
    assert.deepStrictEqual(problems[0]?.loc, ["body", "Symbol(s)"])
  })

  it("accepts missing paths and path objects", () => {
    const issues = [{ message: "bad" }, { message: "worse", path: [{ key: "a" }, { key: 0 }] }]
    assert.deepStrictEqual(problemsFromStandardIssues(issues, { a: ["x"] }), [
      { loc: ["body"], msg: "bad", type: "value_error" },
      { loc: ["body", "a", 0], msg: "worse", type: "value_error" }
    ])
  })
})
