import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { createRequire } from "node:module"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { type Draft, draftOfValue, initialDraft, valueOfDraft } from "../../../../src/domain/page/form/formDraft.ts"
import { type FormField, formOfSchema, maxFormDepth } from "../../../../src/domain/schemas/schemaForm.ts"

const object = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({ type: "object", properties, ...rest })

/** The field of a parameter with this schema. */
const fieldOf = (schema: unknown, rest: JsonObject = {}): FormField | undefined => {
  const form = formOfSchema(object({ p: schema }, rest))
  return form._tag === "Group" ? form.members[0]?.field : undefined
}

const group = (members: Readonly<Record<string, Draft>>): Draft => ({
  _tag: "Group",
  members: new Map(Object.entries(members))
})

const text = (value: string): Draft => ({ _tag: "Text", text: value })

describe("formOfSchema", () => {
  it.each([
    ["a string", { type: "string", format: "uri" }, { _tag: "Text", format: "uri" }],
    ["a number", { type: "number", minimum: 1, maximum: 5 }, { _tag: "Number", integer: false, min: 1, max: 5 }],
    ["an integer", { type: "integer" }, { _tag: "Number", integer: true }],
    ["a boolean", { type: "boolean", default: true }, { _tag: "Flag", initial: true }],
    ["an enumeration", { enum: ["a", 1] }, { _tag: "Choice", values: ["a", 1] }],
    [
      "a text of bounded length",
      { type: "string", minLength: 1, maxLength: 9 },
      { _tag: "Text", minLength: 1, maxLength: 9 }
    ],
    [
      "an array of bounded length",
      { type: "array", items: { enum: ["a", "b"] }, minItems: 1, maxItems: 2 },
      { _tag: "List", item: { _tag: "Choice", values: ["a", "b"] }, min: 1, max: 2 }
    ],
    ["a constant", { const: 7, title: "seven" }, { _tag: "Choice", values: [7], title: "seven" }],
    ["an array", { type: "array", items: { type: "string" } }, { _tag: "List", item: { _tag: "Text" } }],
    ["an array without items", { type: "array" }, { _tag: "Json" }],
    ["a tuple", { type: "array", prefixItems: [{ type: "string" }] }, { _tag: "Json" }],
    ["constants as alternatives", { oneOf: [{ const: "a" }, { const: "b" }] }, { _tag: "Choice", values: ["a", "b"] }],
    [
      "alternatives",
      { anyOf: [{ type: "string" }, { type: "boolean" }], description: "d" },
      { _tag: "Variants", variants: [{ _tag: "Text" }, { _tag: "Flag" }], description: "d" }
    ],
    [
      "a list of types",
      { type: ["integer", "string"], description: "d" },
      { _tag: "Variants", variants: [{ _tag: "Number", integer: true }, { _tag: "Text" }], description: "d" }
    ],
    [
      "an Optional of Pydantic",
      { anyOf: [{ type: "string", format: "date" }, { type: "null" }], default: null, title: "Due" },
      { _tag: "Text", format: "date", title: "Due", nullable: true }
    ],
    [
      "an Optional with a default",
      { anyOf: [{ type: "integer" }, { type: "null" }], default: 3 },
      { _tag: "Number", integer: true, initial: 3, nullable: true }
    ],
    [
      "alternatives beside null",
      { oneOf: [{ type: "string" }, { type: "boolean" }, { const: null }] },
      { _tag: "Variants", variants: [{ _tag: "Text" }, { _tag: "Flag" }], nullable: true }
    ],
    ["a type beside null", { type: ["string", "null"] }, { _tag: "Text", nullable: true }],
    ["values beside null", { enum: ["a", null, "null"] }, { _tag: "Choice", values: ["a", "null"], nullable: true }],
    [
      "values without null of a type with it",
      { type: ["string", "null"], enum: ["a"] },
      { _tag: "Choice", values: ["a"] }
    ],
    ["null alone", { type: "null" }, { _tag: "Choice", values: [null] }],
    ["one alternative", { anyOf: [{ type: "string" }], title: "t" }, { _tag: "Text", title: "t" }],
    ["an allOf of one", { allOf: [{ type: "string" }], title: "t" }, { _tag: "Text", title: "t" }],
    ["many alternatives", { anyOf: Array.from({ length: 9 }, () => ({ type: "string" })) }, { _tag: "Json" }],
    ["a map", { type: "object", additionalProperties: { type: "string" } }, { _tag: "Json" }],
    ["no schema", true, { _tag: "Json" }],
    ["a condition", { type: "object", properties: { a: {} }, if: {} }, { _tag: "Json" }],
    ["a foreign reference", { $ref: "https://x.org/s.json", title: "t" }, { _tag: "Json", title: "t" }]
  ] as const)("makes a field for %s", (_, schema, field) => {
    assert.deepStrictEqual<unknown>(fieldOf(schema), field)
  })

  it("follows references inside the schema", () => {
    const $defs = { level: { enum: ["low", "high"] } }
    const field = fieldOf({ $ref: "#/$defs/level", description: "here" }, { $defs })
    assert.deepStrictEqual(field, { _tag: "Choice", values: ["low", "high"], description: "here" })
  })

  it("ends at a schema that contains itself", () => {
    const form = formOfSchema(object({ child: { $ref: "#" } }))
    let depth = 0
    for (let field: FormField | undefined = form; field?._tag === "Group"; field = field.members[0]?.field) depth += 1
    assert.strictEqual(depth, maxFormDepth)
  })

  it("ends at a reference to itself", () => {
    assert.deepStrictEqual(fieldOf({ $ref: "#/properties/p" }), { _tag: "Json" })
  })

  it("bounds the fields of a schema that grows with its depth", () => {
    const properties = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`p${index}`, { $ref: "#" }]))
    assert.isBelow(JSON.stringify(formOfSchema(object(properties))).length, 200_000)
  })

  it("states which members are required", () => {
    const form = formOfSchema(object({ a: {}, b: {} }, { required: ["b"] }))
    const members = form._tag === "Group" && form.members.map(({ name, required }) => `${name} ${required}`)
    assert.deepStrictEqual(members, ["a false", "b true"])
  })

  it("gives a JSON text area for a schema that is no object", () => {
    assert.deepStrictEqual(formOfSchema({ type: "string" }), { _tag: "Json" })
  })
})

const mixed = formOfSchema(
  object(
    {
      name: { type: "string" },
      count: { type: "integer" },
      flag: { type: "boolean" },
      level: { enum: ["low", "high"] },
      tags: { type: "array", items: { type: "string" } },
      filter: object({ from: { type: "number" } }, { required: ["from"] }),
      target: { anyOf: [{ type: "string" }, object({ id: { type: "integer" } })] },
      other: {}
    },
    { required: ["name", "count"] }
  )
)

describe("valueOfDraft", () => {
  it("gives the values of all kinds of fields", () => {
    const draft = group({
      name: text("x"),
      count: text(" 3 "),
      flag: { _tag: "Flag", value: false },
      level: { _tag: "Choice", index: 1 },
      tags: { _tag: "List", items: [text("a"), text("b")] },
      filter: group({ from: text("0.5") }),
      target: { _tag: "Variant", index: 1, draft: group({ id: text("7") }) },
      other: { _tag: "Json", text: "[1]" }
    })
    assert.deepStrictEqual(valueOfDraft(mixed, draft), {
      value: {
        name: "x",
        count: 3,
        flag: false,
        level: "high",
        tags: ["a", "b"],
        filter: { from: 0.5 },
        target: { id: 7 },
        other: [1]
      },
      problems: []
    })
  })

  it("leaves out absent members, and keeps what is wrong", () => {
    assert.deepStrictEqual(valueOfDraft(mixed, group({ name: text(""), count: text("1") })), {
      value: { name: "", count: 1 },
      problems: [{ path: "name", message: "Required" }]
    })
  })

  it.each([
    [{ count: text("") }, "count", "Required"],
    [{ count: text("1.5") }, "count", "Enter a whole number such as 3"],
    [{ count: text("abc") }, "count", "Enter a whole number such as 3"],
    [{ filter: group({ from: text("Infinity") }) }, "filter.from", "Enter a number such as 1.5"],
    [{ filter: { _tag: "Group", members: new Map() } }, "filter.from", "Required"],
    [{ tags: { _tag: "List", items: [text("a"), text("")] } }, "tags[1]", "Required"],
    [{ count: { _tag: "Absent" } }, "count", "Required"]
  ] as const)("explains what is wrong with %o", (members, path, message) => {
    const draft = group({ name: text("x"), count: text("1"), ...members })
    assert.deepStrictEqual(valueOfDraft(mixed, draft).problems, [{ path, message }])
  })

  it("tells what is wrong with JSON", () => {
    const { problems } = valueOfDraft(
      mixed,
      group({ name: text("x"), count: text("1"), other: { _tag: "Json", text: "[1,\n2" } })
    )
    assert.match(`${problems[0]?.path} ${problems[0]?.message}`, /^other Not JSON: .*line 2/)
  })

  it.each([
    [{ type: "string", minLength: 3 }, "ab", "At least 3 characters"],
    [{ type: "string", maxLength: 1 }, "ab", "At most 1 character"],
    [{ type: "string", maxLength: 1 }, "\u{1f600}", undefined],
    [{ type: "string", format: "email" }, "ann", "Enter an email address such as ann@example.org"],
    [{ type: "string", format: "uri" }, "example", "Enter an address such as https://example.org"],
    [{ type: "string", format: "date" }, "2026-02-31", "Enter a date such as 2026-11-29"],
    [{ type: "string", format: "date" }, "2026-02-28", undefined],
    [{ type: "string", format: "date-time" }, "soon", "Enter a date and a time such as 2026-11-29T14:30:00Z"],
    [{ type: "string", format: "time" }, "25:00:00Z", "Enter a time such as 14:30:00Z"],
    [{ type: "string", format: "toString" }, "x", undefined],
    [{ type: "number", minimum: 1, maximum: 5 }, "9", "Enter a number from 1 to 5"],
    [{ type: "number", minimum: 1 }, "0", "At least 1"],
    [{ type: "number", maximum: 5 }, "6", "At most 5"],
    [{ type: "number" }, "1,5", "Enter a number such as 1.5"]
  ] as const)("checks a value of %o: %s", (schema, entered, message) => {
    const form = formOfSchema(object({ p: schema }))
    const { problems } = valueOfDraft(form, group({ p: text(entered) }))
    assert.deepStrictEqual(problems, message === undefined ? [] : [{ path: "p", message }])
  })

  it.each([
    ["a text", { type: "string" }, "Required"],
    ["a text that may be empty", { type: "string", minLength: 0 }, undefined],
    ["a text that is empty by default", { type: "string", default: "" }, undefined],
    ["a text or null", { type: ["string", "null"] }, undefined],
    ["a choice", { enum: ["a", "b"] }, "Choose one"],
    ["a choice with an empty text", { enum: ["", "b"] }, "Choose one"],
    ["a list", { type: "array", items: { type: "string" } }, undefined],
    ["a list of some length", { type: "array", items: { enum: ["a", "b"] }, minItems: 1 }, "At least 1 value"]
  ] as const)("asks for %s that is required", (_, schema, message) => {
    const form = formOfSchema(object({ p: schema }, { required: ["p"] }))
    const { problems } = valueOfDraft(form, initialDraft(form))
    assert.deepStrictEqual(problems, message === undefined ? [] : [{ path: "p", message }])
  })

  it("sends null for an empty field that is required, and leaves out another one", () => {
    const schema = { anyOf: [{ type: "string" }, { type: "null" }], default: null }
    const form = formOfSchema(object({ a: schema, b: schema }, { required: ["a"] }))
    assert.deepStrictEqual(valueOfDraft(form, initialDraft(form)), { value: { a: null }, problems: [] })
  })
})

describe("initialDraft", () => {
  it("fills in defaults, and leaves out other optional members", () => {
    const form = formOfSchema(
      object(
        { a: { type: "string", default: "x" }, b: { type: "string" }, c: { type: "boolean" }, d: { const: 5 } },
        { required: ["c", "d"] }
      )
    )
    assert.deepStrictEqual(valueOfDraft(form, initialDraft(form)).value, { a: "x", c: false, d: 5 })
  })

  it("asks for required members", () => {
    assert.deepStrictEqual(valueOfDraft(mixed, initialDraft(mixed)).problems, [
      { path: "name", message: "Required" },
      { path: "count", message: "Required" }
    ])
  })
})

describe("draftOfValue", () => {
  it.prop(
    "keeps any JSON value that is entered in the JSON editor",
    [Schema.Record(Schema.String, Schema.Json)],
    ([given]) => {
      const value: unknown = JSON.parse(JSON.stringify({ name: "x", count: 1, ...given }))
      assert.deepStrictEqual(valueOfDraft(mixed, draftOfValue(mixed, value)).value, value)
    }
  )

  const { Json } = Schema
  const Members = Schema.Struct({ name: Json, count: Json, tags: Json, filter: Json, target: Json })

  it.prop("keeps any value of the known members", [Members], ([given]) => {
    const value: unknown = JSON.parse(JSON.stringify(given))
    assert.deepStrictEqual(valueOfDraft(mixed, draftOfValue(mixed, value)).value, value)
  })
})

/** Schemas with values that are valid for them. */
const validValues: ReadonlyArray<readonly [schema: JsonObject, value: Schema.Schema<unknown>]> = [
  [{ type: "string" }, Schema.String],
  [{ type: ["string", "null"] }, Schema.NullOr(Schema.String)],
  [{ anyOf: [{ type: "integer" }, { type: "null" }], default: null }, Schema.NullOr(Schema.Int)],
  [{ enum: ["a", null, 2] }, Schema.NullOr(Schema.Literals(["a", 2]))],
  [{ type: "boolean" }, Schema.Boolean],
  [{ type: "array", items: { enum: ["a", "b"] } }, Schema.Array(Schema.Literals(["a", "b"]))],
  [{ type: "array", items: { type: ["number", "null"] } }, Schema.Array(Schema.NullOr(Schema.Finite))],
  [
    { anyOf: [object({ kind: { const: "x" } }), { type: "array", items: { type: "string" } }, { type: "null" }] },
    Schema.NullOr(Schema.Union([Schema.Struct({ kind: Schema.Literal("x") }), Schema.Array(Schema.String)]))
  ],
  [{ type: "string", format: "date-time" }, Schema.String]
]

describe("a value that is valid", () => {
  it("is an empty field when it is null", () => {
    const form = formOfSchema(object({ p: { type: ["string", "null"] } }))
    assert.deepStrictEqual(draftOfValue(form, { p: null }), group({ p: { _tag: "Null" } }))
  })

  for (const [schema, value] of validValues) {
    it.prop(`is kept by the form of ${JSON.stringify(schema)}`, [value, Schema.Boolean], ([given, isRequired]) => {
      const form = formOfSchema(object({ p: schema }, { required: isRequired ? ["p"] : [] }))
      const params: unknown = JSON.parse(JSON.stringify({ p: given }))
      assert.deepStrictEqual(valueOfDraft(form, draftOfValue(form, params)).value, params)
    })
  }
})

const listSchemas = async (server: string): Promise<ReadonlyMap<string, JsonObject>> => {
  const entry = createRequire(import.meta.url).resolve(`@modelcontextprotocol/${server}/dist/index.js`)
  const client = new Client({ name: "test", version: "1.0.0" })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [entry], stderr: "ignore" }))
  const { tools } = await client.listTools()
  await client.close()
  return new Map(tools.map(({ inputSchema, name }) => [name, inputSchema]))
}

const childrenOf = (field: FormField): ReadonlyArray<FormField> => {
  if (field._tag === "Group") return field.members.map((member) => member.field)
  if (field._tag === "List") return [field.item]
  return field._tag === "Variants" ? field.variants : []
}

/** The fields of a form, without the form itself. */
const flatten = (field: FormField): ReadonlyArray<FormField> =>
  childrenOf(field).flatMap((child) => [child, ...flatten(child)])

describe("form of a real tool", () => {
  for (const server of ["server-everything", "server-memory"]) {
    it(`shows a field for each parameter of ${server}`, async () => {
      const schemas = await listSchemas(server)
      assert.isAbove(schemas.size, 5)
      for (const [tool, schema] of schemas) {
        const form = formOfSchema(schema)
        assert.strictEqual(form._tag, "Group", tool)
        const unknown = flatten(form).filter(({ _tag }) => _tag === "Json")
        assert.deepStrictEqual(unknown, [], tool)
      }
    })
  }
})
