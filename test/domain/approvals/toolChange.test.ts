import { assert, describe, it } from "@effect/vitest"
import { describeToolChange } from "../../../src/domain/approvals/toolChange.ts"
import type { JsonObject } from "../../../src/domain/json.ts"

const sentences = (part: "schema" | "annotations", before: JsonObject, after: JsonObject) =>
  describeToolChange({
    differences: [{ part, before: JSON.stringify(before, null, 2), after: JSON.stringify(after, null, 2) }]
  }).flatMap((one) => one.sentences)

const schema = (properties: JsonObject, ...required: ReadonlyArray<string>) => ({
  type: "object",
  properties,
  required
})

describe("change of a tool in words", () => {
  it.each([
    ["a new parameter", {}, { path: { type: "string" } }, ['"path" is new: string']],
    ["a parameter that is gone", { path: {} }, {}, ['"path" is gone']],
    [
      "further values",
      { mode: { enum: ["read"] } },
      { mode: { enum: ["read", "write"] } },
      ['"mode" may also be "write"']
    ],
    [
      "values that are gone",
      { mode: { enum: ["read", "write"] } },
      { mode: { enum: ["read"] } },
      ['"mode" may not be "write" any more']
    ],
    [
      "another type",
      { count: { type: "integer" } },
      { count: { type: "string" } },
      ['"count" is now string instead of integer']
    ],
    [
      "another default",
      { n: { type: "integer", default: 1 } },
      { n: { type: "integer", default: 9 } },
      ['"n" is 9 when it is left out']
    ],
    ["a default that is gone", { n: { default: 1 } }, { n: {} }, ['"n" is absent when it is left out']],
    [
      "another description",
      { n: { description: "a number" } },
      { n: { description: 'the "key" file' } },
      ['"n" is described as "the \\"key\\" file"']
    ],
    [
      "nested parameters",
      { filter: { type: "object" } },
      { filter: { type: "object", properties: { from: { type: "number" } } } },
      ['"filter.from" is new: number']
    ],
    ["a name that imitates a sentence", {}, { 'a" is gone': {} }, ['"a\\" is gone" is new: any']]
  ])("names %s", (_, before, after, expected) => {
    assert.deepStrictEqual(sentences("schema", schema(before), schema(after)), expected)
  })

  it("says which parameters became required, or are so no more", () => {
    const one = { a: { type: "string" } }
    assert.deepStrictEqual(sentences("schema", schema({}), schema(one, "a")), ['"a" is new and required: string'])
    assert.deepStrictEqual(sentences("schema", schema(one), schema(one, "a")), ['"a" is now required'])
    assert.deepStrictEqual(sentences("schema", schema(one, "a"), schema(one)), ['"a" is not required any more'])
  })

  it.each([
    [{ readOnlyHint: true }, { readOnlyHint: false }, "The tool now says that it changes data"],
    [{ readOnlyHint: true }, {}, "The tool does not say any more that it only reads"],
    [{}, { destructiveHint: true }, "The tool now says that it may delete or overwrite data"],
    [{ title: "Read" }, { title: "Send" }, '"title" is now "Send"'],
    [{ readOnlyHint: true }, { readOnlyHint: "maybe" }, '"readOnlyHint" is now "maybe"'],
    [{ toString: 1 }, {}, '"toString" is gone']
  ])("tells what the tool says about itself: %o, %o", (before, after, expected) => {
    assert.deepStrictEqual(sentences("annotations", before as JsonObject, after as JsonObject), [expected])
  })

  it("keeps both texts, also of a truncated schema, which has no sentences", () => {
    const difference = { part: "schema", before: "{}", after: '{"properties": {"a…' } as const
    assert.deepStrictEqual(describeToolChange({ differences: [difference] }), [
      { title: "parameters", sentences: [], before: "{}", after: difference.after }
    ])
  })
})
