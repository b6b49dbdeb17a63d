import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseToolResult } from "../../../src/domain/model/ToolResult.ts"

const metaOf = (result: object) => Result.getOrThrow(parseToolResult({ content: [], ...result })).meta

const big = 1_917_043_659_912_705_300

describe("the metadata of a result with an integer that may be rounded", () => {
  it.each([
    ["of the protocol", { meta: { other: 1 } }, { other: 1, a2c_rounded_integers: ["/structuredContent/id"] }],
    ["of MCP", { _meta: { other: 1 } }, { other: 1, a2c_rounded_integers: ["/structuredContent/id"] }],
    ["that is missing", {}, { a2c_rounded_integers: ["/structuredContent/id"] }]
  ])("keeps its other members: metadata %s", (_, given, expected) => {
    assert.deepStrictEqual<unknown>(metaOf({ structuredContent: { id: big }, ...given }), expected)
  })

  it("also names its own integers", () => {
    assert.deepStrictEqual<unknown>(metaOf({ meta: { id: big } }), { id: big, a2c_rounded_integers: ["/meta/id"] })
  })

  it("is unchanged without such an integer", () => {
    assert.deepStrictEqual<unknown>(metaOf({ meta: { id: 1 }, structuredContent: { id: 9_007_199_254_740_991 } }), {
      id: 1
    })
    assert.isUndefined(metaOf({}))
  })
})
