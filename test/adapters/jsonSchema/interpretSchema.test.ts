import { runInNewContext } from "node:vm"
import * as library from "@cfworker/json-schema"
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Effect, Schema } from "effect"
import { build } from "esbuild"
import { loadInterpreter } from "../../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import { makeInterpreter } from "../../../src/adapters/jsonSchema/interpretSchema.ts"
import { InvalidSchema, type SchemaCheck } from "../../../src/application/ports/SchemaValidator.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { formatArgumentViolation } from "../../../src/domain/schemas/SchemaViolation.ts"

const interpret = makeInterpreter(library)

const checkOf = (schema: JsonObject): SchemaCheck => {
  const check = interpret(schema)
  if (check instanceof InvalidSchema) throw check
  return check
}

const reasonOf = (schema: JsonObject): string => {
  const check = interpret(schema)
  return check instanceof InvalidSchema ? check.message : "valid"
}

const Primitives = [1, 0.5, -2, "", "a", "ab", "ba", true, null] as const
const Primitive = Schema.Union(Primitives.map((value) => (value === null ? Schema.Null : Schema.Literal(value))))

/** Values of few names and texts, so that schemas often match. */
const Value: Schema.Codec<unknown> = Schema.Union([
  Primitive,
  Schema.Array(Primitive).check(Schema.isMaxLength(3)),
  Schema.Record(Schema.Literals(["a", "b", "c"]), Primitive)
])

describe("interpreter beside Ajv", () => {
  const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
  const Names = Schema.Array(Schema.Literals(["a", "b", "c"])).check(Schema.isMaxLength(2))
  const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(schema)
  const leaf = {
    type: optional(Schema.Literals(["string", "number", "integer", "object", "array", "null", "boolean"])),
    const: optional(Primitive),
    enum: optional(Schema.NonEmptyArray(Primitive).check(Schema.isMaxLength(3), Schema.isUnique())),
    maximum: optional(Small),
    exclusiveMinimum: optional(Small),
    maxLength: optional(Small),
    minLength: optional(Small),
    minItems: optional(Small),
    maxProperties: optional(Small),
    pattern: optional(Schema.Literals(["^a", "b$", "^[ab]?$", "a+b*"])),
    required: optional(Names.check(Schema.isUnique()))
  }
  const Leaf = Schema.Struct(leaf)
  const Part = Schema.Union([Leaf, Schema.Boolean])
  const Branches = Schema.NonEmptyArray(Part).check(Schema.isMaxLength(2))
  const Nested = Schema.Struct({
    ...leaf,
    properties: optional(Schema.Record(Schema.Literals(["a", "b"]), Part)),
    patternProperties: optional(Schema.Record(Schema.Literals(["^a", "c"]), Part)),
    additionalProperties: optional(Part),
    unevaluatedProperties: optional(Part),
    propertyNames: optional(Leaf),
    dependentRequired: optional(Schema.Record(Schema.Literals(["a", "b"]), Names.check(Schema.isUnique()))),
    items: optional(Part),
    allOf: optional(Branches),
    anyOf: optional(Branches),
    oneOf: optional(Branches),
    not: optional(Part),
    if: optional(Part),
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: optional(Part),
    else: optional(Part)
  })
  const ajv = new Ajv2020({ strict: false, ownProperties: true })

  it.prop(
    "agrees with Ajv on which values are valid",
    [Nested, Value],
    ([schema, value]) => {
      const isValid = ajv.validate(schema, value)
      const found = checkOf(schema)(value).map(formatArgumentViolation)
      assert.strictEqual(found.length === 0, isValid, `${ajv.errorsText()} against ${found.join("; ")}`)
    },
    { arbitrary: { runs: 2000, size: 8 } }
  )
})

describe("interpreter", () => {
  const twice = {
    $defs: {
      level: {
        anyOf: [1, 2].map((least) => ({ minProperties: least + 1, properties: { a: { $ref: "#/$defs/level" } } }))
      }
    },
    $ref: "#/$defs/level"
  }
  const nested = (depth: number): JsonObject => (depth === 0 ? {} : { a: nested(depth - 1) })

  for (const [title, schema, value, reason] of [
    ["a cost that doubles with each level", twice, nested(40), "too expensive"],
    ["very many parts", { items: {} }, Array.from({ length: 200_000 }, () => 1), "too expensive"],
    ["many items to compare", { uniqueItems: true }, Array.from({ length: 5000 }, (_, at) => ({ at })), "1000 items"],
    ["endless recursion", { $ref: "#" }, {}, "call stack"]
  ] as const) {
    it(`ends with the reason for ${title}`, () => {
      assert.throws(() => checkOf(schema)(value), reason)
      // The next value has all steps again.
      assert.deepStrictEqual(checkOf(schema === twice ? { type: "object" } : { items: {} })({}), [])
    })
  }

  it("validates a table of many cells", () => {
    const table = { type: "array", items: { type: "array", items: { type: ["string", "number"] } } }
    const rows = Array.from({ length: 5000 }, () => Array.from({ length: 10 }, () => "cell"))
    assert.deepStrictEqual(checkOf(table)(rows), [])
    assert.isNotEmpty(checkOf(table)([...rows, [null]]))
  })

  it("ends with the reason for a text that is too long for its pattern", () => {
    const schema = { properties: { slug: { pattern: "^[a-z]+(-[a-z]+)*$" }, body: { type: "string" } } }
    const describe = (slug: string) => checkOf(schema)({ slug, body: "b".repeat(100_000) }).map(formatArgumentViolation)
    assert.deepStrictEqual(describe("some-slug"), [])
    assert.deepStrictEqual(describe("Slug"), ['/slug: must match pattern "^[a-z]+(-[a-z]+)*$"'])
    assert.throws(() => describe("s".repeat(1000)), 'a text of 1000 characters is too long for the pattern "^[a-z]+')
  })

  for (const [schema, reason] of [
    [{ properties: { a: { pattern: "^(a+)+$" } } }, 'pattern "^(a+)+$" can take exponential time'],
    [{ patternProperties: { "(x+x+)+y": {} } }, "can take exponential time"],
    [{ pattern: "(" }, "Invalid regular expression"],
    [{ type: "strng" }, "schema is invalid: /type: must be equal to one of the allowed values"],
    [{ properties: { a: { required: "b" } } }, "schema is invalid: /properties/a/required: must be array"],
    [{ $ref: "https://example.com/other" }, "can't resolve reference https://example.com/other"],
    [{ description: "d".repeat(300_000) }, "schema of more than"]
  ] as const) {
    it(`rejects a schema: ${reason}`, () => {
      assert.include(reasonOf(schema), reason)
    })
  }

  it.effect("prepares a schema once", () =>
    Effect.gen(function* () {
      const compile = yield* loadInterpreter
      const schema = { type: "string" }
      assert.strictEqual(compile(schema), compile(schema))
    })
  )

  it("leaves the schema as it is", () => {
    const schema = Object.freeze({ properties: Object.freeze({ a: Object.freeze({ pattern: "a+b", format: "x" }) }) })
    const before = JSON.stringify(schema)
    assert.lengthOf(checkOf(schema)({ a: "c" }), 1)
    assert.strictEqual(JSON.stringify(schema), before)
  })

  it("keeps a property and a constant named format", () => {
    const schema = { properties: { format: { type: "string" }, b: { const: { format: "x" } } }, required: ["format"] }
    assert.lengthOf(checkOf(schema)({ format: 1, b: { format: "x" } }), 1)
    assert.lengthOf(checkOf(schema)({ format: "a", b: { format: "y" } }), 1)
  })
})

describe("bundle of the interpreter", () => {
  /** Runs a program like a page whose content security policy forbids generated code. */
  const run = async (contents: string, globals: object): Promise<unknown> => {
    const options = { bundle: true, platform: "browser", format: "iife", write: false, metafile: true } as const
    const { metafile, outputFiles } = await build({ ...options, stdin: { contents, resolveDir: process.cwd() } })
    assert.notMatch(Object.keys(metafile.inputs).join("\n"), /node_modules\/ajv|platform-node|adapters\/ajv/)
    const text = outputFiles[0]?.text ?? ""
    assert.notMatch(text, /require\(|from "node:/)
    const done = Promise.withResolvers<unknown>()
    const page = {
      URL,
      File,
      TextEncoder,
      TextDecoder,
      AbortController,
      setTimeout,
      clearTimeout,
      queueMicrotask,
      done
    }
    runInNewContext(text, { ...page, ...globals }, { contextCodeGeneration: { strings: false, wasm: false } })
    return done.promise
  }

  const program = `
    import { Effect, Result } from "effect"
    import { loadInterpreter } from "./src/adapters/jsonSchema/JsonSchemaValidator.ts"
    import { makeParamsValidator } from "./src/adapters/tools/ParamsValidator.ts"
    const params = { type: "object", properties: { city: { type: "string" }, days: { default: 3 } }, required: ["city"] }
    const program = Effect.gen(function* () {
      const compile = yield* loadInterpreter
      const { check } = yield* Effect.fromResult(makeParamsValidator(params, compile))
      const problems = yield* Effect.flip(check({}))
      return JSON.stringify([yield* check({ city: "Bern" }), problems])
    })
    Effect.runPromise(Effect.catch(program, Effect.succeed)).then(done.resolve, done.reject)`

  it("decodes parameters without Node, Ajv and generated code", async () => {
    const expected = [{ city: "Bern", days: 3 }, [{ loc: ["body", "city"], msg: "Field required", type: "missing" }]]
    assert.strictEqual(await run(program, {}), JSON.stringify(expected))
  })

  it("gives the reason in a worker that cannot load the library", async () => {
    const location = { origin: "http://localhost:3000", pathname: "http://localhost:3000/0f", search: "" }
    const reason = await run(program, { self: { location }, location })
    assert.match(String(reason), /^JSON Schemas cannot be checked here: .*Invalid URL$/)
  })
})
