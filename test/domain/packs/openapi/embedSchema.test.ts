import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { embedSchema } from "../../../../src/domain/packs/openapi/embedSchema.ts"

const place = "#/components/schemas/x"
const embedded = (schema: { readonly [key: string]: unknown }) => embedSchema(schema, place)

describe("embedded schema", () => {
  it("rewrites references to its place in the document", () => {
    const schema = {
      $defs: { A: { type: "string" }, "B[a/b~c%]": { items: { $ref: "#" } } },
      properties: {
        a: { $ref: "#/$defs/A", description: "kept" },
        b: { anyOf: [{ $ref: "#/$defs/B[a~1b~0c%]" }] },
        c: { $ref: "#/properties/a" }
      }
    }
    assert.deepStrictEqual(embedded(schema), {
      $defs: { A: { type: "string" }, "B[a/b~c%]": { items: { $ref: place } } },
      properties: {
        a: { $ref: `${place}/$defs/A`, description: "kept" },
        b: { anyOf: [{ $ref: `${place}/$defs/B%5Ba~1b~0c%25%5D` }] },
        c: { $ref: `${place}/properties/a` }
      }
    })
  })

  it("removes references that lead nowhere or elsewhere", () => {
    const schema = {
      type: "object",
      properties: {
        a: { $ref: "#/$defs/none" },
        b: { $ref: "https://example.org/x.json", title: "b" },
        c: { $ref: 7 },
        d: { $ref: "#/type" },
        e: { $dynamicRef: "#node" }
      }
    }
    assert.deepStrictEqual(embedded(schema), {
      type: "object",
      properties: { a: {}, b: { title: "b" }, c: {}, d: {}, e: {} }
    })
  })

  it("keeps a top-level reference apart, so no reader loses its siblings", () => {
    assert.deepStrictEqual(embedded({ $ref: "#/$defs/A", allOf: [true], $defs: { A: {} } }), {
      $defs: { A: {} },
      allOf: [true, { $ref: `${place}/$defs/A` }]
    })
  })

  it("copies data unchanged, also parameters named like keywords", () => {
    const schema = {
      default: { $ref: "#/gone" },
      enum: [{ $id: "x" }],
      properties: { default: { $ref: "#/$defs/A" }, $id: { type: "string" } },
      $defs: { A: true }
    }
    assert.deepStrictEqual(embedded(schema), {
      ...schema,
      properties: { ...schema.properties, default: { $ref: `${place}/$defs/A` } }
    })
  })

  it("removes identifiers and drafts, and converts old tuples", () => {
    const schema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      $id: "urn:x",
      items: [{ $id: "y" }, true]
    }
    assert.deepStrictEqual(embedded(schema), { prefixItems: [{}, true] })
  })

  it("ends for cyclic and huge schemas", () => {
    const circle: Record<string, unknown> = {}
    circle["properties"] = { a: circle, b: circle }
    assert.isBelow(JSON.stringify(embedded(circle)).length, 1_000_000)
  })

  it("replaces invalid subschemas by an open schema", () => {
    assert.deepStrictEqual(embedded({ properties: 7, allOf: {}, items: "x" }), {
      properties: {},
      items: {}
    })
  })

  it.prop(
    "accepts any object, and stays the same when embedded again",
    [Schema.Record(Schema.String, Schema.Json)],
    ([json]) => {
      const once = embedded({ ...json, properties: json, anyOf: [json] })
      assert.deepStrictEqual(embedded(once), once)
    }
  )
})
