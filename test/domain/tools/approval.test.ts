import { assert, describe, it } from "@effect/vitest"
import { approves } from "../../../src/domain/tools/approval.ts"

describe("approval by patterns", () => {
  it.each([
    [["*"], "any", true],
    [["search*"], "search_web", true],
    [["search*"], "research", false],
    [["get_?"], "get_x", true],
    [["get_?"], "get_xy", false],
    [["a.b"], "aXb", false],
    [["alpha/*"], "tool", true],
    [["beta/*"], "tool", false],
    [["alpha/t(oo)l"], "tool", false],
    [[], "tool", false]
  ] as const)("%s covers alpha/%s: %s", (patterns, tool, expected) => {
    assert.strictEqual(approves(patterns, "alpha", tool), expected)
  })
})
