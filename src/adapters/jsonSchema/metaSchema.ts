import type { Schema } from "@cfworker/json-schema"
import { schemaListKeywords, schemaMapKeywords, singleSchemaKeywords } from "../../domain/schemas/jsonSchema.ts"

const anySchema: Schema = { $ref: "#" }
const schemas: Schema = { type: "array", items: anySchema }
const count: Schema = { type: "integer", minimum: 0 }
const typeName: Schema = { enum: ["array", "boolean", "integer", "null", "number", "object", "string"] }
const names: Schema = { type: "array", items: { type: "string" } }

const keywords = (list: Iterable<string>, schema: Schema) => Object.fromEntries([...list].map((name) => [name, schema]))

/** What the keywords of all drafts have in common: arguments of these types can be interpreted. */
export const metaSchema: Schema = {
  type: ["object", "boolean"] as never,
  properties: {
    ...keywords(singleSchemaKeywords, anySchema),
    ...keywords(schemaListKeywords, schemas),
    ...keywords(schemaMapKeywords, { type: "object", additionalProperties: anySchema }),
    ...keywords(["maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"], { type: "number" }),
    ...keywords(["maxContains", "maxItems", "maxLength", "maxProperties"], count),
    ...keywords(["minContains", "minItems", "minLength", "minProperties"], count),
    ...keywords(["$anchor", "$id", "$ref", "pattern"], { type: "string" }),
    dependencies: { type: "object", additionalProperties: { anyOf: [anySchema, names] } as Schema },
    dependentRequired: { type: "object", additionalProperties: names },
    enum: { type: "array" },
    items: { anyOf: [anySchema, schemas] },
    multipleOf: { type: "number", exclusiveMinimum: 0 },
    required: names,
    type: { anyOf: [typeName, { type: "array", items: typeName }] },
    uniqueItems: { type: "boolean" }
  }
}
