import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { createRequire } from "node:module"
import type { JsonObject } from "../../../src/domain/json.ts"
import {
  findProblems,
  fitsField,
  formatEntry,
  initialValue,
  formMembers,
  parseEntry,
  Unfinished
} from "../../../src/domain/schemas/formValue.ts"
import { type FormField, formOfSchema, jsonObjectField, maxFormDepth } from "../../../src/domain/schemas/schemaForm.ts"

const object = (properties: JsonObject, rest: JsonObject = {}): JsonObject => ({ type: "object", properties, ...rest })

/** The field of a parameter with this schema. */
const fieldOf = (schema: unknown, rest: JsonObject = {}): FormField | undefined => {
  const form = formOfSchema(object({ p: schema }, rest))
  return form._tag === "Group" ? form.members[0]?.field : undefined
}

/** A field of these values with their own texts as labels. */
const choice = (...values: ReadonlyArray<string>) => ({
  _tag: "Choice",
  choices: values.map((value) => ({ value, label: value }))
})

describe("formOfSchema", () => {
  it.each([
    ["a string", { type: "string", format: "uri" }, { _tag: "Text", format: "uri" }],
    ["a number", { type: "number", minimum: 1, maximum: 5 }, { _tag: "Number", integer: false, min: 1, max: 5 }],
    ["an integer", { type: "integer" }, { _tag: "Number", integer: true }],
    ["a boolean", { type: "boolean", default: true }, { _tag: "Flag", initial: true }],
    [
      "an enumeration",
      { enum: ["a", 1] },
      {
        _tag: "Choice",
        choices: [
          { value: "a", label: "a" },
          { value: 1, label: "1" }
        ]
      }
    ],
    ["a text of bounded length", { type: "string", minLength: 1, maxLength: 9 }, { _tag: "Text", min: 1, max: 9 }],
    [
      "an array of bounded length",
      { type: "array", items: { enum: ["a", "b"] }, minItems: 1, maxItems: 2 },
      { _tag: "List", item: choice("a", "b"), min: 1, max: 2 }
    ],
    [
      "a constant",
      { const: 7, title: "seven" },
      { _tag: "Choice", choices: [{ value: 7, label: "7" }], title: "seven" }
    ],
    ["an array", { type: "array", items: { type: "string" } }, { _tag: "List", item: { _tag: "Text" } }],
    ["an array without items", { type: "array" }, { _tag: "Json" }],
    ["a tuple", { type: "array", prefixItems: [{ type: "string" }] }, { _tag: "Json" }],
    ["constants as alternatives", { oneOf: [{ const: "a" }, { const: "b" }] }, choice("a", "b")],
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
    ["values beside null", { enum: ["a", null, "null"] }, { ...choice("a", "null"), nullable: true }],
    ["values without null of a type with it", { type: ["string", "null"], enum: ["a"] }, choice("a")],
    ["null alone", { type: "null" }, { _tag: "Choice", choices: [{ value: null, label: "null" }] }],
    [
      "constants with titles",
      { oneOf: [{ const: 1, title: "one" }, { const: 2 }] },
      {
        _tag: "Choice",
        choices: [
          { value: 1, label: "one" },
          { value: 2, label: "2" }
        ]
      }
    ],
    [
      "values with names",
      { enum: ["a", "b"], enumNames: ["A", ""] },
      {
        _tag: "Choice",
        choices: [
          { value: "a", label: "A" },
          { value: "b", label: "b" }
        ]
      }
    ],
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
    assert.deepStrictEqual<unknown>(field, { ...choice("low", "high"), description: "here" })
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
    assert.deepStrictEqual(formOfSchema({ type: "string" }), jsonObjectField)
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

/** What stands for a value without one. */
const blank = new Unfinished("")

/** A value as it is sent. */
const sent = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe("findProblems", () => {
  it("finds none in the values of all kinds of fields", () => {
    const value = {
      name: "x",
      count: 3,
      flag: false,
      level: "high",
      tags: ["a", "b"],
      filter: { from: 0.5 },
      target: { id: 7 },
      other: [1]
    }
    assert.deepStrictEqual(findProblems(mixed, value), [])
  })

  it.each([
    [{ name: "" }, "name", "Required"],
    [{ count: undefined }, "count", "Required"],
    [{ count: blank }, "count", "Required"],
    [{ count: 1.5 }, "count", "Enter a whole number such as 3"],
    [{ count: new Unfinished("abc") }, "count", "Enter a whole number such as 3"],
    [{ filter: { from: new Unfinished("1,5") } }, "filter.from", "Enter a number such as 1.5"],
    [{ filter: {} }, "filter.from", "Required"],
    [{ tags: ["a", ""] }, "tags[1]", "Required"],
    [{ target: { id: new Unfinished("x") } }, "target.id", "Enter a whole number such as 3"]
  ] as const)("explains what is wrong with %o", (members, path, message) => {
    assert.deepStrictEqual(findProblems(mixed, { name: "x", count: 1, ...members }), [{ path, message }])
  })

  it("tells what is wrong with JSON", () => {
    const [problem] = findProblems(mixed, { name: "x", count: 1, other: new Unfinished("[1,\n2") })
    assert.match(`${problem?.path} ${problem?.message}`, /^other Not JSON: .*line 2/)
  })

  it("asks for an object where the whole is JSON", () => {
    const [problem] = findProblems(jsonObjectField, [])
    assert.deepStrictEqual(problem, { path: "", message: "Enter a JSON object such as {}" })
    assert.deepStrictEqual(findProblems(jsonObjectField, initialValue(jsonObjectField)), [])
  })

  it("leaves a value that does not fit its field to the check of the Computer", () => {
    assert.deepStrictEqual(findProblems(mixed, { name: 5, count: "7", level: "other", tags: {}, filter: 1 }), [])
  })

  it.each([
    [{ type: "string", minLength: 3 }, "ab", "At least 3 characters"],
    [{ type: "string", maxLength: 1 }, "ab", "At most 1 character"],
    [{ type: "string", maxLength: 1 }, "\u{1f600}", undefined],
    [{ type: "string", format: "email" }, "ann", "Enter an email address such as ann@example.org"],
    [{ type: "string", format: "uri" }, "example", "Enter an address such as https://example.org"],
    [{ type: "string", format: "date" }, "2026-02-31", "Enter a date such as 2026-11-29"],
    [{ type: "string", format: "date" }, "2026-02-28", undefined],
    [{ type: "string", format: "date-time" }, "soon", "Enter a date and time such as 2026-11-29T14:30:00Z"],
    [{ type: "string", format: "time" }, "25:00:00Z", "Enter a time such as 14:30:00Z"],
    [{ type: "string", format: "toString" }, "x", undefined],
    [{ type: "number", minimum: 1, maximum: 5 }, 9, "Enter a number from 1 to 5"],
    [{ type: "number", minimum: 1 }, 0, "At least 1"],
    [{ type: "number", maximum: 5 }, 5, undefined]
  ] as const)("checks a value of %o: %s", (schema, value, message) => {
    const form = formOfSchema(object({ p: schema }))
    assert.deepStrictEqual(findProblems(form, { p: value }), message === undefined ? [] : [{ path: "p", message }])
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
    const problems = findProblems(form, initialValue(form))
    assert.deepStrictEqual(problems, message === undefined ? [] : [{ path: "p", message }])
  })
})

describe("initialValue", () => {
  it("fills in defaults, and leaves out other optional members", () => {
    const form = formOfSchema(
      object(
        { a: { type: "string", default: "x" }, b: { type: "string" }, c: { type: "boolean" }, d: { const: 5 } },
        { required: ["c", "d"] }
      )
    )
    assert.deepStrictEqual(sent(initialValue(form)), { a: "x", c: false, d: 5 })
  })

  it("asks for required members", () => {
    assert.deepStrictEqual(findProblems(mixed, initialValue(mixed)), [
      { path: "name", message: "Required" },
      { path: "count", message: "Required" }
    ])
  })

  it("is null for an empty field that is required, and leaves out another one", () => {
    const schema = { anyOf: [{ type: "string" }, { type: "null" }], default: null }
    const form = formOfSchema(object({ a: schema, b: schema }, { required: ["a"] }))
    assert.deepStrictEqual(sent(initialValue(form)), { a: null })
  })

  it("is that of the first kind of several, of which none is entered yet", () => {
    const form = formOfSchema(object({ p: { type: ["integer", "string"] } }, { required: ["p"] }))
    assert.deepStrictEqual(initialValue(form), { p: blank })
    assert.deepStrictEqual(sent(initialValue(form)), {})
  })
})

describe("an entered text", () => {
  const number: FormField = { _tag: "Number", integer: false }
  const json: FormField = { _tag: "Json" }

  it.each([
    [number, " 3 ", 3],
    [number, "1.", 1],
    [number, "1e400", new Unfinished("1e400")],
    [number, "Infinity", new Unfinished("Infinity")],
    [number, "", blank],
    [{ ...number, nullable: true }, " ", null],
    [json, "[1]", [1]],
    [json, "null", null],
    [json, "[1", new Unfinished("[1")]
  ] as const)("of %o is parsed: %s", (field, text, value) => {
    assert.deepStrictEqual<unknown>(parseEntry(field, true, text), value)
  })

  it("is no value where it is empty and optional", () => {
    assert.isUndefined(parseEntry(number, false, ""))
  })

  it("is that of its value", () => {
    const texts = [undefined, new Unfinished("[1"), 1.5, "a", null].map((value) => formatEntry(json, value))
    assert.deepStrictEqual(texts, ["", "[1", "1.5", '"a"', "null"])
    assert.strictEqual(formatEntry({ ...json, nullable: true }, null), "")
  })

  it("shows invisible characters of JSON as escapes", () => {
    assert.strictEqual(formatEntry(json, "a\u202eb"), '"a\\u202eb"')
  })

  it.prop("is parsed to the value that it was formatted from", [Schema.Json], ([given]) => {
    const value = sent(given)
    assert.deepStrictEqual(parseEntry(json, true, formatEntry(json, value)), value)
  })
})

describe("formMembers", () => {
  it("lists also members that the form does not know, as JSON", () => {
    const form = formOfSchema(object({ a: { type: "string" } }))
    const members = form._tag === "Group" ? formMembers(form, JSON.parse('{"a":1,"toString":2,"__proto__":3}')) : []
    assert.deepStrictEqual(
      members.map(({ field, name, value }) => [name, field._tag, value]),
      [
        ["a", "Text", 1],
        ["toString", "Json", 2],
        ["__proto__", "Json", 3]
      ]
    )
  })

  it("takes no value from the prototype of objects", () => {
    const form = formOfSchema(object({ constructor: { type: "string" } }))
    const members = form._tag === "Group" ? formMembers(form, {}) : []
    assert.deepStrictEqual(
      members.map(({ value }) => value),
      [undefined]
    )
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
  for (const [schema, value] of validValues) {
    it.prop(`fits the form of ${JSON.stringify(schema)}`, [value, Schema.Boolean], ([given, isRequired]) => {
      const form = formOfSchema(object({ p: schema }, { required: isRequired ? ["p"] : [] }))
      const params = sent({ p: given })
      const [member] = form._tag === "Group" ? formMembers(form, params) : []
      assert.isTrue(member !== undefined && fitsField(member.field, member.value))
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
