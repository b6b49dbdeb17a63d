import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Schema } from "effect"
import { z } from "zod"
import {
  problemsFromKeywordIssues,
  problemsFromStandardIssues
} from "../../../../src/domain/packs/params/paramsProblems.ts"

const ajv = new Ajv2020({ allErrors: true, strict: false })
const byAjv = (schema: object, params: unknown) => {
  ajv.validate(schema, params)
  return problemsFromKeywordIssues(ajv.errors ?? [], params)
}
const missing = (...loc: ReadonlyArray<string | number>) => ({
  loc: ["body", ...loc],
  msg: "Field required",
  type: "missing"
})

describe("problems that a JSON Schema validator found", () => {
  it("what is missing is said as the original says it", () => {
    const item = { type: "object", required: ["a/b"] }
    const schema = { required: ["text"], properties: { list: { type: "array", items: item } } }
    assert.deepStrictEqual(byAjv(schema, { list: [{}] }), [missing("text"), missing("list", 0, "a/b")])
  })

  it.each([
    [{ type: "string" }, 1, "string_type"],
    [{ type: "integer" }, "x", "int_type"],
    [{ type: "boolean" }, "x", "bool_type"],
    [{ minimum: 3 }, 1, "greater_than_equal"],
    [{ maxLength: 1 }, "abc", "string_too_long"],
    [{ pattern: "^a" }, "b", "string_pattern_mismatch"],
    [{ enum: ["a"] }, "b", "literal_error"],
    [{ not: {} }, "b", "value_error"]
  ])("%j against %j is a %s", (schema, x, type) => {
    const [problem] = byAjv({ properties: { x: schema } }, { x })
    assert.deepStrictEqual([problem?.loc, problem?.type], [["body", "x"], type])
  })

  it("the allowed values are said", () => {
    assert.match(byAjv({ properties: { x: { enum: ["a", 1] } } }, { x: 0 })[0]?.msg ?? "", /: \["a",1\]$/)
  })

  it("what nobody asked for is named", () => {
    const schema = { properties: {}, additionalProperties: false }
    assert.deepStrictEqual(byAjv(schema, { "a/b": 1 }), [
      { loc: ["body", "a/b"], msg: "unknown parameter", type: "extra_forbidden" }
    ])
  })

  it("a name of digits in an object is no number", () => {
    const deep = { properties: { 0: { type: "string" } } }
    assert.deepStrictEqual(byAjv({ properties: { x: deep } }, { x: { 0: 1 } })[0]?.loc, ["body", "x", "0"])
  })

  it("names in pointers are read", () => {
    const schema = { properties: { "a/b~c": { type: "string" } } }
    assert.deepStrictEqual(byAjv(schema, { "a/b~c": 1 })[0]?.loc, ["body", "a/b~c"])
  })

  it("no more are told than anybody reads", () => {
    const list = Array.from({ length: 500 }, () => "x")
    assert.lengthOf(byAjv({ properties: { list: { items: { type: "integer" } } } }, { list }), 100)
  })
})

describe("problems that a Standard Schema found", () => {
  const byZod = async (schema: z.ZodType, params: unknown) => {
    const { issues = [] } = await schema["~standard"].validate(params)
    return problemsFromStandardIssues(issues, params)
  }

  it("what is missing for zod is said as the original says it", async () => {
    const schema = z.object({ text: z.string(), list: z.array(z.object({ n: z.number() })) })
    assert.deepStrictEqual(await byZod(schema, { list: [{}] }), [missing("text"), missing("list", 0, "n")])
  })

  it("what is wrong for zod is in its words", async () => {
    const [problem] = await byZod(z.object({ n: z.number() }), { n: "x" })
    assert.deepStrictEqual([problem?.loc, problem?.type], [["body", "n"], "value_error"])
    assert.match(problem?.msg ?? "", /expected number/)
  })

  it("what is missing for Effect's Schema is said, too", () => {
    const schema = Schema.toStandardSchemaV1(Schema.Struct({ text: Schema.String }))
    const result = schema["~standard"].validate({})
    assert.deepStrictEqual(
      "issues" in result ? problemsFromStandardIssues(result.issues ?? [], {}) : result,
      [missing("text")]
    )
  })

  it("paths may be absent, or made of keys in objects", () => {
    const issues = [{ message: "bad" }, { message: "worse", path: [{ key: "a" }, { key: 0 }] }]
    assert.deepStrictEqual(problemsFromStandardIssues(issues, { a: ["x"] }), [
      { loc: ["body"], msg: "bad", type: "value_error" },
      { loc: ["body", "a", 0], msg: "worse", type: "value_error" }
    ])
  })
})
