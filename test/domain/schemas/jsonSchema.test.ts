import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { z } from "zod"
import {
  type BranchSelection,
  collectSubschemas,
  declaredTypes,
  fileParamsOf,
  propertySchemas,
  resolveRef
} from "../../../src/domain/schemas/jsonSchema.ts"

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more })
const binary = { type: "string", format: "binary" }

describe("JSON Pointer", () => {
  const letters = Array.from({ length: 12 }, (_, index) => `item ${index}`)
  const root = {
    $defs: { "a/b~c": { n: [{ deep: 1 }] }, "L[int]": "list", "50%": "half", é: "accent", "%ff": "byte", letters }
  }

  it.each([
    ["#", root],
    ["#/$defs/a~1b~0c/n/0/deep", 1],
    ["#/$defs/L%5Bint%5D", "list"],
    ["#/$defs/50%", "half"],
    ["#/$defs/50%25", "half"],
    ["#/$defs/%C3%A9", "accent"],
    ["#/$defs/%ff", "byte"],
    ["#/$defs/letters/11", "item 11"],
    ["#/$defs/letters/1x", undefined],
    ["#/$defs/letters/x1", undefined],
    ["#/$defs/letters/length", undefined],
    ["#/$defs/none", undefined],
    ["#/$defs/__proto__", undefined],
    ["#/$defs/a~1b~0c/n/x", undefined],
    ["other.json#/a", undefined],
    ["#anchor", undefined]
  ])("resolves %s", (pointer, target) => {
    assert.strictEqual(resolveRef(root, pointer), target)
  })

  it.prop("accepts any reference", [Schema.Json, Schema.String], ([json, text]) => {
    assert.doesNotThrow(() => resolveRef(json, `#/${text}`))
  })
})

describe("subschema", () => {
  it("ends for cyclic references", () => {
    const root = { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }
    assert.lengthOf(collectSubschemas(root, root, "all"), 3)
  })

  it("comes in order of distance", () => {
    const root = { $defs: { a: { default: 2 } } }
    const near = { default: 1, $ref: "#/$defs/a" }
    assert.deepStrictEqual(collectSubschemas(root, near, "none"), [near, root.$defs.a])
  })

  it("stops at the limit for endless schemas", () => {
    const wide = { anyOf: Array.from({ length: 1000 }, (_, index) => ({ const: index })) }
    assert.lengthOf(collectSubschemas(wide, wide, "all"), 64)
  })
})

describe("declared types", () => {
  it.each([
    [{ type: "string" }, ["string"]],
    [{ type: ["string", "null"], properties: {} }, ["string", "null"]],
    [{ properties: {}, items: {} }, ["object"]],
    [{ items: {} }, ["array"]],
    [{ prefixItems: [] }, ["array"]],
    [{}, []]
  ])("of %j are %j", (schema, types) => {
    assert.deepStrictEqual(declaredTypes(schema), types)
  })
})

describe("branches of a schema", () => {
  const [text, number] = [{ type: "string" }, { type: "number" }]
  const branchesOf = (branches: ReadonlyArray<unknown>, selection: BranchSelection) =>
    collectSubschemas({}, { anyOf: branches }, selection).slice(1)

  it.each([
    [[text], [text]],
    [[text, { type: "null" }], [text]],
    [[{ const: null }, text], [text]],
    [[text, number], []],
    [[{ type: "null" }], []]
  ])("selects the single one beside null of %j", (branches, selected) => {
    assert.deepStrictEqual(branchesOf(branches, "single"), selected)
  })

  it("selects all or none", () => {
    assert.deepStrictEqual(branchesOf([text, number], "all"), [text, number])
    assert.deepStrictEqual(branchesOf([text], "none"), [])
  })
})

describe("map of property schemas", () => {
  it("has alternatives for a name that several parts have", () => {
    const [text, number] = [{ type: "string" }, { type: "number" }]
    const parts = [{ properties: { a: text, b: text } }, { properties: { a: number } }, { properties: 7 }]
    assert.deepStrictEqual(
      [...propertySchemas(parts)],
      [
        ["a", { anyOf: [text, number] }],
        ["b", text]
      ]
    )
  })
})

describe("file parameter", () => {
  it.each([
    ["OpenAPI", binary, { multiple: false }],
    ["pydantic", { type: "string", contentMediaType: "application/octet-stream" }, { multiple: false }],
    ["zod", z.toJSONSchema(z.file()), { multiple: false }],
    ["an optional one", { anyOf: [binary, { type: "null" }] }, { multiple: false }],
    ["one by reference", { $ref: "#/$defs/File" }, { multiple: false }],
    ["OpenAPI 2", { type: "string", contentEncoding: "binary" }, { multiple: false }],
    ["a list", { type: "array", items: binary }, { multiple: true }],
    ["a list by reference", { items: { $ref: "#/$defs/File" } }, { multiple: true }],
    ["an optional list", { anyOf: [{ type: "array", items: binary }, { type: "null" }] }, { multiple: true }]
  ])("detects a file as %s declares it", (_who, file, expected) => {
    const schema = object({ file, name: { type: "string" } }, { $defs: { File: binary } })
    assert.deepStrictEqual(fileParamsOf(schema), { file: expected })
  })

  it.each([
    { type: "string" },
    { type: "string", format: "uri" },
    { type: "string", contentMediaType: "application/json" },
    { type: "string", contentMediaType: "application/problem+json" },
    { type: "string", contentMediaType: "image/png", contentSchema: {} },
    { type: "string", contentMediaType: "image/png", contentEncoding: "base64" },
    { type: "object", format: "binary" },
    { type: "array", items: { type: "string" } }
  ])("ignores %j", (file) => {
    assert.deepStrictEqual(fileParamsOf(object({ file })), {})
  })

  it("finds parameters behind a reference", () => {
    const schema = { $ref: "#/$defs/Params", $defs: { Params: object({ file: binary }) } }
    assert.deepStrictEqual(fileParamsOf(schema), { file: { multiple: false } })
  })

  it.prop("accepts any object as schema", [Schema.Record(Schema.String, Schema.Json)], ([json]) => {
    assert.doesNotThrow(() => fileParamsOf({ ...json, properties: json }))
  })
})
