import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { z } from "zod"
import { fileParamsOf, resolveRef, collectSubschemas } from "../../../../src/domain/packs/params/jsonSchema.ts"

const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more })
const binary = { type: "string", format: "binary" }

describe("JSON Pointer", () => {
  const root = { $defs: { "a/b~c": { n: [{ deep: 1 }] }, "L[int]": "list", "50%": "half" } }

  it.each([
    ["#", root],
    ["#/$defs/a~1b~0c/n/0/deep", 1],
    ["#/$defs/L%5Bint%5D", "list"],
    ["#/$defs/50%", "half"],
    ["#/$defs/50%25", "half"],
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

describe("file parameter", () => {
  it.each([
    ["OpenAPI", binary, { multiple: false }],
    ["pydantic", { type: "string", contentMediaType: "application/octet-stream" }, { multiple: false }],
    ["zod", z.toJSONSchema(z.file()), { multiple: false }],
    ["an optional one", { anyOf: [binary, { type: "null" }] }, { multiple: false }],
    ["one by reference", { $ref: "#/$defs/File" }, { multiple: false }],
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
