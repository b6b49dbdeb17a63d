import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { embedSchema } from "../../../../src/domain/packs/openapi/embedSchema.ts"

const place = "#/components/schemas/x"
const embedded = (schema: { readonly [key: string]: unknown }) => embedSchema(schema, place)

describe("schemas within a document", () => {
  it("references lead to where the schema stands", () => {
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

  it("what leads nowhere, or out of the schema, is left open", () => {
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

  it("a reference stands alone, so that no reader loses what is beside it", () => {
    assert.deepStrictEqual(embedded({ $ref: "#/$defs/A", allOf: [true], $defs: { A: {} } }), {
      $defs: { A: {} },
      allOf: [true, { $ref: `${place}/$defs/A` }]
    })
  })

  it("data is no schema, and a parameter may have the name of a keyword", () => {
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

  it("its own names and drafts are left out, and old tuples written anew", () => {
    const schema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      $id: "urn:x",
      items: [{ $id: "y" }, true]
    }
    assert.deepStrictEqual(embedded(schema), { prefixItems: [{}, true] })
  })

  it("objects that hold themselves, and schemas too large to read, end", () => {
    const circle: Record<string, unknown> = {}
    circle["properties"] = { a: circle, b: circle }
    assert.isBelow(JSON.stringify(embedded(circle)).length, 1_000_000)
  })

  it("what stands where a schema should is left open", () => {
    assert.deepStrictEqual(embedded({ properties: 7, allOf: {}, items: "x" }), {
      properties: {},
      items: {}
    })
  })

  it.prop(
    "any object is a schema, and without references it stays what it has become",
    [Schema.Record(Schema.String, Schema.Json)],
    ([json]) => {
      const once = embedded({ ...json, properties: json, anyOf: [json] })
      assert.deepStrictEqual(embedded(once), once)
    }
  )
})
