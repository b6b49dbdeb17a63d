import { AjvJsonSchemaValidator as ModernValidator } from "@modelcontextprotocol/client/validators/ajv"
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv"
import { assert, describe, it } from "@effect/vitest"
import { oddItems, wholeSchema } from "../../application/bridge/listings/oddItems.ts"
import { isSelfContained, repairSchema } from "../../../src/domain/schemas/repairSchema.ts"

describe("repairSchema", () => {
  it.each([
    [{ type: "str" }, {}],
    [{ type: ["string", "null"] }, { type: ["string", "null"] }],
    [{ type: ["string", 5] }, {}],
    [{ required: true }, {}],
    [{ enum: [] }, {}],
    [{ pattern: "(" }, {}],
    [{ patternProperties: { "(": {}, a: {} } }, { patternProperties: { a: {} } }],
    [{ minimum: "1", maxLength: -1, multipleOf: 0 }, {}],
    [{ properties: { a: { items: null, minLength: null } } }, { properties: { a: {} } }],
    [{ properties: { no: false } }, { properties: { no: { not: {} } } }],
    [{ properties: { type: { type: "string" }, enum: {} } }, { properties: { type: { type: "string" }, enum: {} } }],
    [{ anyOf: {} }, {}],
    [{ anyOf: [{ type: 5 }, true, null] }, { anyOf: [{}, true, {}] }],
    [{ items: [{ type: "string" }] }, { prefixItems: [{ type: "string" }] }],
    [{ additionalProperties: "no" }, {}],
    [
      { default: null, const: null, examples: 5 },
      { default: null, const: null, examples: 5 }
    ],
    [{ id: "x", $async: true, "x-mcp-header": "Place", $schema: "https://example.com/mine" }, {}],
    [{ nullable: true }, {}],
    [
      { type: "string", nullable: true },
      { type: "string", nullable: true }
    ],
    [{ dependencies: { a: ["b"], c: { type: 5 } } }, { dependencies: { a: ["b"], c: {} } }],
    [{ dependentRequired: { a: "b", c: ["d"] } }, { dependentRequired: { c: ["d"] } }]
  ])("repairs %j to %j", (schema, expected) => assert.deepStrictEqual<unknown>(repairSchema(schema), expected))

  it("gives schemas that the validators of the official clients compile", () => {
    const validators = [new AjvJsonSchemaValidator(), new ModernValidator()]
    const { $id: _, ...whole } = wholeSchema
    const schemas = oddItems(whole, "title", String).map(({ item }) => repairSchema(item))
    const texts = new Set(schemas.filter(isSelfContained).map((schema) => JSON.stringify(schema)))
    for (const text of texts) {
      for (const validator of validators) assert.doesNotThrow(() => validator.getValidator(JSON.parse(text)), text)
    }
  })

  it("keeps a list of items of an old draft", () => {
    const schema = { $schema: "http://json-schema.org/draft-07/schema#", items: [{}] }
    assert.deepStrictEqual(repairSchema(schema), schema)
  })

  it("ends for a schema that contains itself", () => {
    const schema: Record<string, unknown> = {}
    schema["not"] = schema
    assert.doesNotThrow(() => repairSchema(schema))
  })
})

describe("isSelfContained", () => {
  it.each([
    [{ $ref: "#/$defs/a", $defs: { a: {} } }, true],
    [{ properties: { $ref: { type: "string" }, $id: {} } }, true],
    [{ $ref: "#/$defs/b" }, false],
    [{ $ref: "https://example.com/a" }, false],
    [{ $ref: "#a", $defs: { a: { $anchor: "a" } } }, false],
    [{ $defs: { a: { $id: "a" } } }, false],
    [{ $dynamicRef: "#a" }, false]
  ])("of %j is %s", (schema, expected) => assert.strictEqual(isSelfContained(schema), expected))
})
