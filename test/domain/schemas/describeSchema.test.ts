import { assert, describe, it } from "@effect/vitest"
import { describeParameters, exampleArguments } from "../../../src/domain/schemas/describeSchema.ts"

const schema = {
  type: "object",
  properties: {
    query: { type: "string", description: "What to\n  look for" },
    limit: { anyOf: [{ type: "integer" }, { type: "null" }], default: 10 },
    order: { type: "string", enum: ["new", "old"] },
    tags: { type: "array", items: { type: "string" } },
    filter: { $ref: "#/$defs/Filter" },
    free: {}
  },
  required: ["query", "filter"],
  $defs: {
    Filter: {
      type: "object",
      properties: { name: { type: "string" }, parent: { $ref: "#/$defs/Filter" } },
      required: ["name"]
    }
  }
}

describe("describeParameters", () => {
  it("lists name, type, required, default and description, also of nested parameters", () => {
    assert.deepStrictEqual(describeParameters(schema).slice(0, 7), [
      ["query", "string", "yes", "", "What to look for"],
      ["limit", "integer | null", "", "10", ""],
      ["order", '"new" | "old"', "", "", ""],
      ["tags", "array of string", "", "", ""],
      ["filter", "object", "yes", "", ""],
      ["filter.name", "string", "yes", "", ""],
      ["filter.parent", "object", "", "", ""]
    ])
  })

  it("ends at a recursive schema, and at a bounded number of rows", () => {
    const names = describeParameters(schema).map(([name]) => name)
    assert.include(names, "filter.parent.parent.name")
    assert.notInclude(names, "filter.parent.parent.parent.name")
    const properties = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`p${index}`, {}]))
    assert.lengthOf(describeParameters({ type: "object", properties }), 200)
  })
})

describe("exampleArguments", () => {
  it("gives the required parameters values that fit", () => {
    assert.deepStrictEqual(exampleArguments(schema), ["query=text", "filter:={}"])
    assert.deepStrictEqual(exampleArguments({ properties: { n: { type: "integer" }, m: {} } }), ["n=1"])
    assert.deepStrictEqual(exampleArguments({ properties: { to: { const: "@all" } } }), ["to=@@all"])
    assert.deepStrictEqual(exampleArguments({}), [])
  })
})
