import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as JsonSchemaValidator from "../../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import { SchemaValidator } from "../../../src/application/ports/SchemaValidator.ts"
import { asObject, type JsonObject, parseJson } from "../../../src/domain/json.ts"

const check = (schema: JsonObject, value: unknown) => SchemaValidator.use((validator) => validator.check(schema, value))

const place = {
  type: "object",
  properties: { city: { type: "string" }, unit: { enum: ["C", "F"] }, days: { type: "integer", maximum: 7 } },
  required: ["city"],
  additionalProperties: false
}

describe("JsonSchemaValidator", () => {
  layer(JsonSchemaValidator.layer)((it) => {
    it.effect("reports no errors for a valid value", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* check(place, { city: "Bern", days: 3 }), [])
      })
    )

    it.effect("reports all errors with their path and the expectation", () =>
      Effect.gen(function* () {
        assert.sameMembers(
          [...(yield* check(place, { unit: "K", days: 8, town: "Bern" }))],
          [
            "the arguments: must have required property 'city'",
            'the arguments: unknown argument "town"',
            '/unit: must be equal to one of the allowed values: ["C","F"]',
            "/days: must be <= 7"
          ]
        )
      })
    )

    it.effect("quotes the start of a long argument name", () =>
      Effect.gen(function* () {
        const name = "k".repeat(10_000)
        const schema = { type: "object", properties: { a: {} }, additionalProperties: false }
        const nested = { type: "object", additionalProperties: { type: "string" } }
        for (const error of [...(yield* check(schema, { [name]: 1 })), ...(yield* check(nested, { [name]: 1 }))]) {
          assert.include(error, "kkk")
          assert.isBelow(error.length, 500)
        }
      })
    )

    it.effect("lists the first of many allowed values and counts the others", () =>
      Effect.gen(function* () {
        const values = Array.from({ length: 3000 }, (_, index) => `value-${index}`)
        const [error] = yield* check({ properties: { a: { enum: values } } }, { a: "other" })
        assert.match(error ?? "", /^\/a: must be .* values: \["value-0",.*,"value-\d+" and 29\d\d more\]$/)
      })
    )

    const many = Array.from({ length: 3000 }, (_, index) => `value-${index}`)
    const long = "k".repeat(100_000)
    const deepObjects = Array.from({ length: 100 }).reduce((inner: unknown) => ({ ["level".repeat(50)]: inner }), 1)
    const onlyObjects = {
      $ref: "#/$defs/d",
      $defs: { d: { type: "object", additionalProperties: { $ref: "#/$defs/d" } } }
    }
    for (const [title, schema, value] of [
      ["many allowed values", { properties: { a: { enum: many } } }, { a: 1 }],
      ["a large allowed value", { properties: { a: { enum: [long, "b"] } } }, { a: 1 }],
      ["a large constant", { properties: { a: { const: { many } } } }, { a: 1 }],
      ["a long pattern", { properties: { a: { pattern: "k".repeat(5000) } } }, { a: "a" }],
      ["a long required name", { required: [long] }, {}],
      ["a long dependent name", { dependentRequired: { a: [long] } }, { a: 1 }],
      ["a long allowed name", { propertyNames: { pattern: "^j".repeat(2000) } }, { [long]: 1 }],
      ["a deep path", onlyObjects, deepObjects],
      [
        "many alternatives",
        { properties: { a: { anyOf: many.slice(0, 100).map((one) => ({ const: one })) } } },
        { a: 1 }
      ],
      ["many wrong items", { items: { enum: many } }, Array.from({ length: 900 }, () => 1)]
    ] as const) {
      it.effect(`is short about ${title}`, () =>
        Effect.gen(function* () {
          const errors = yield* check(schema, value)
          assert.isNotEmpty(errors)
          assert.isBelow(errors.join("\n").length, 10_000)
          for (const error of errors) assert.isBelow(error.length, 1100)
        })
      )
    }

    it.effect("reports at most ten errors", () =>
      Effect.gen(function* () {
        const schema = { type: "array", items: { type: "string" } }
        const numbers = Array.from({ length: 50 }, (_, index) => index)
        assert.lengthOf(yield* check(schema, numbers), 10)
      })
    )

    it.effect("validates each of many schemas by its own rules", () =>
      Effect.gen(function* () {
        const schemas = Array.from({ length: 1000 }, (_, most) => ({ type: "integer", maximum: most }))
        // First compiles all, then uses the cache, then uses equal copies.
        for (const round of [schemas, schemas, structuredClone(schemas)]) {
          for (const [most, schema] of round.entries()) {
            assert.deepStrictEqual(yield* check(schema, most), [])
            assert.deepStrictEqual(yield* check(schema, most + 1), [`the arguments: must be <= ${most}`])
          }
        }
      })
    )

    it.effect("rejects a circular schema without a defect", () =>
      Effect.gen(function* () {
        const schema: Record<string, unknown> = { type: "object" }
        schema["not"] = schema
        assert.strictEqual((yield* Effect.flip(check(schema, {})))._tag, "InvalidSchema")
      })
    )

    it.effect("validates a schema with $async synchronously", () =>
      Effect.gen(function* () {
        const schema = { $async: true, type: "object", required: ["city"] }
        assert.lengthOf(yield* check(schema, {}), 1)
        assert.deepStrictEqual(yield* check(schema, { city: "Bern" }), [])
      })
    )

    for (const schema of [{ $ref: "#" }, { $id: 5 }]) {
      it.effect(`rejects ${JSON.stringify(schema)} without a defect`, () =>
        Effect.gen(function* () {
          assert.strictEqual((yield* Effect.flip(check(schema, { a: 1 })))._tag, "InvalidSchema")
        })
      )
    }

    it.effect("reads a draft 7 schema as draft 7", () =>
      Effect.gen(function* () {
        const pair = [{ type: "string" }, { type: "number" }]
        const old = { $schema: "http://json-schema.org/draft-07/schema#", type: "array", items: pair }
        assert.lengthOf(yield* check(old, ["a", "b"]), 1)
        const recent = { type: "array", prefixItems: pair }
        assert.lengthOf(yield* check(recent, ["a", "b"]), 1)
      })
    )

    it.effect("isolates a schema whose $id is that of a draft", () =>
      Effect.gen(function* () {
        const thief = { $id: "https://json-schema.org/draft/2020-12/schema", type: "object" }
        assert.lengthOf(yield* check(thief, 1), 1)
        assert.lengthOf(yield* check({ type: "string", title: "after it" }, 1), 1)
      })
    )

    it.effect("rejects a reference to the schema of a draft", () =>
      Effect.gen(function* () {
        const reference = { $ref: "https://json-schema.org/draft/2020-12/schema" }
        assert.include((yield* Effect.flip(check(reference, {}))).message, reference.$ref)
      })
    )

    it.effect("rejects dynamic references", () =>
      Effect.gen(function* () {
        const tree = {
          $dynamicAnchor: "node",
          type: "object",
          properties: { child: { $dynamicRef: "#node" } }
        }
        assert.strictEqual((yield* Effect.flip(check(tree, {}))).message, "$dynamicRef is not supported")
      })
    )

    it.effect("reads own members only", () =>
      Effect.gen(function* () {
        const inherited = { type: "object", properties: { toString: { type: "string" }, constructor: false } }
        assert.deepStrictEqual(yield* check(inherited, {}), [])
        const named = parseJson('{"properties":{"__proto__":{"type":"string"}},"additionalProperties":false}')
        assert.lengthOf(yield* check(asObject(named), parseJson('{"__proto__":1}')), 1)
        assert.lengthOf(yield* check(asObject(named), parseJson('{"__proto__":"a"}')), 0)
        assert.lengthOf(yield* check(asObject(named), { a: 1 }), 1)
      })
    )

    for (const [schema, value, expected] of [
      [{ type: ["string", "null"] }, 1, ["must be string,null"]],
      [{ const: { a: 1 } }, { a: 2 }, ['must be equal to constant: {"a":1}']],
      [{ exclusiveMinimum: 3 }, 3, ["must be > 3"]],
      [{ maxLength: 1 }, "ab", ["must NOT have more than 1 characters"]],
      [{ minLength: 2 }, "😀", ["must NOT have fewer than 2 characters"]],
      [{ pattern: '^"a' }, "b", ['must match pattern "^"a"']],
      [{ minItems: 1 }, [], ["must NOT have fewer than 1 items"]],
      [{ maxProperties: 0 }, { a: 1 }, ["must NOT have more than 0 properties"]],
      [{ uniqueItems: true }, [{ a: 1 }, { a: 1 }], ["must NOT have duplicate items (items ## 0 and 1 are identical)"]],
      [
        { contains: { const: 2 }, maxContains: 1 },
        [2, 2],
        ["must contain at least 1 and no more than 1 valid item(s)"]
      ],
      [{ not: {} }, 1, ["must NOT be valid"]],
      [{ anyOf: [{ type: "string" }] }, 1, ["must be string", "must match a schema in anyOf"]],
      [{ oneOf: [{}, {}] }, 1, ["must match exactly one schema in oneOf"]],
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      [{ if: {}, then: { type: "string" } }, 1, ["must be string", 'must match "then" schema']],
      [{ required: ['a"b'] }, {}, [`must have required property 'a"b'`]],
      [
        { dependentRequired: { a: ["b", "c"] } },
        { a: 1, b: 2 },
        ["must have properties b, c when property a is present"]
      ],
      [{ unevaluatedProperties: false }, { a: 1 }, ['unknown argument "a"']],
      [{ properties: { a: {} }, unevaluatedProperties: false }, { a: 1 }, []],
      [{ allOf: [{ properties: { a: {} } }], unevaluatedProperties: false }, { a: 1 }, []],
      [{ prefixItems: [{}], unevaluatedItems: { type: "string" } }, [1, "a"], []],
      [{ $ref: "#/$defs/a", maximum: 3, $defs: { a: { minimum: 5 } } }, 4, ["must be >= 5", "must be <= 3"]]
    ] as const) {
      it.effect(`describes the violations of ${JSON.stringify(schema)}`, () =>
        Effect.gen(function* () {
          const errors = (yield* check(schema, value)).map((error) => error.replace(/^the arguments: /, ""))
          assert.sameMembers([...errors], [...expected])
        })
      )
    }

    it.effect("gives the place of a violation as a JSON pointer", () =>
      Effect.gen(function* () {
        const schema = { properties: { "a/b c~ä%": { items: { type: "string" } } } }
        assert.deepStrictEqual(yield* check(schema, { "a/b c~ä%": ["x", 1] }), ["/a~1b c~0ä%/1: must be string"])
      })
    )

    it.effect("scopes the names inside a schema to that schema", () =>
      Effect.gen(function* () {
        const item = (type: string) => ({
          $id: "https://example.com/order",
          $defs: { item: { $id: "item", type } },
          $ref: "item"
        })
        assert.lengthOf(yield* check(item("string"), "a"), 0)
        assert.lengthOf(yield* check(item("number"), 1), 0)
        const borrowed = { $ref: "https://example.com/item" }
        assert.include((yield* Effect.flip(check(borrowed, 1))).message, "https://example.com/item")
      })
    )

    it.effect("never validates asynchronously", () =>
      Effect.gen(function* () {
        assert.lengthOf(yield* check({ $async: true, type: "object" }, "text"), 1)
      })
    )

    it.effect("ignores unknown drafts, keywords and formats", () =>
      Effect.gen(function* () {
        const odd = { $schema: "https://example.com/mine", type: "object", "x-order": 1, format: "colour" }
        assert.deepStrictEqual(yield* check(odd, {}), [])
      })
    )

    for (const [format, value] of [
      ["date-time", "2026-11-27T10:00:00"],
      ["date-time", "2026-11-27 10:00"],
      ["date", "27.11.2026"],
      ["time", "10:00:00"],
      ["duration", "90 minutes"],
      ["uri", "https://例え.jp/パス"],
      ["uri", "example.org/a b"],
      ["uri-reference", "ä b"],
      ["email", "jürgen@müller.example"],
      ["hostname", "my_host"],
      ["ipv4", "localhost"],
      ["uuid", "42"],
      ["regex", "("],
      ["json-pointer", "a/b"],
      ["int32", 2 ** 40]
    ] as const) {
      it.effect(`takes the format ${format} of ${JSON.stringify(value)} as an annotation`, () =>
        Effect.gen(function* () {
          const schema = { type: "object", properties: { a: { format } } }
          assert.deepStrictEqual(yield* check(schema, { a: value }), [])
          const draft7 = {
            $schema: "http://json-schema.org/draft-07/schema#",
            ...schema,
            properties: { a: { format } }
          }
          assert.deepStrictEqual(yield* check(draft7, { a: value }), [])
          const large = Array.from({ length: 2000 }, () => value)
          assert.deepStrictEqual(yield* check({ items: { format } }, large), [])
        })
      )
    }

    for (const [value, divisor] of [
      [0.07, 0.01],
      [0.3, 0.1],
      [-0.3, 0.1],
      [1.1, 0.1],
      [4.35, 0.01],
      [0.0000003, 1e-7],
      [1e-7, 1e-7],
      [19.99, 0.01],
      [1e21, 0.01],
      [1e308, 1e-7],
      [1_000_000_007, 0.5],
      [2 ** 60, 2],
      [0, 0.01],
      [-0, 3],
      [6, 3]
    ] as const) {
      it.effect(`takes ${value} for a multiple of ${divisor}`, () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* check({ multipleOf: divisor }, value), [])
          const draft7 = { $schema: "http://json-schema.org/draft-07/schema#", multipleOf: divisor }
          assert.deepStrictEqual(yield* check(draft7, value), [])
        })
      )
    }

    for (const [value, divisor] of [
      [0.075, 0.01],
      [0.35, 0.1],
      [7, 2],
      [-7, 2],
      [1.5, 1],
      [0.01, 0.07],
      [1e-8, 1e-7],
      [1e21, 3],
      [9_007_199_254_740_992, 3],
      [1e-300, 1]
    ] as const) {
      it.effect(`rejects ${value}, which is no multiple of ${divisor}`, () =>
        Effect.gen(function* () {
          const expected = [`the arguments: must be multiple of ${divisor}`]
          assert.deepStrictEqual(yield* check({ multipleOf: divisor }, value), expected)
        })
      )
    }

    it.effect("accepts two schemas with the same $id", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* check({ $id: "https://example.com/a", type: "string" }, "x"), [])
        assert.lengthOf(yield* check({ $id: "https://example.com/a", type: "number" }, "x"), 1)
      })
    )

    it.effect("validates long values and schemas", () =>
      Effect.gen(function* () {
        const texts = Array.from({ length: 5000 }, () => "text")
        const list = { type: "array", items: { type: "string" } }
        assert.lengthOf(yield* check(list, [...texts, 1]), 1)
        assert.lengthOf(yield* check(list, texts), 0)
        assert.lengthOf(yield* check({ ...list, items: { pattern: "^te*xt$" } }, [...texts, "text!"]), 1)
        const names = Object.fromEntries(texts.slice(0, 700).map((_, at) => [`text${at}`, { type: "integer" }]))
        assert.lengthOf(yield* check({ properties: names }, { text7: "seven", text8: 8 }), 1)
      })
    )

    it.effect("rejects a schema that does not compile, every time", () =>
      Effect.gen(function* () {
        const broken = { type: "object", properties: { a: { $ref: "#/nowhere" } } }
        const first = yield* Effect.flip(check(broken, {}))
        assert.include(first.message, "#/nowhere")
        assert.strictEqual((yield* Effect.flip(check(broken, {})))._tag, "InvalidSchema")
      })
    )
  })
})
