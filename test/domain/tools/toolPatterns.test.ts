import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { matchesToolPattern } from "../../../src/domain/wildcard.ts"
import { cpuTime } from "../../cpuTime.ts"

describe("matchesToolPattern", () => {
  it.each([
    [["*"], "any", true],
    [["search*"], "search_web", true],
    [["search*"], "research", false],
    [["get_?"], "get_x", false],
    [["get_?"], "get_?", true],
    [["a.b"], "aXb", false],
    [["alpha/*"], "tool", true],
    [["beta/*"], "tool", false],
    [["alpha/t(oo)l"], "tool", false],
    [["*b*a"], "abcba", true],
    [["*b*a"], "abcbac", false],
    [["*ab*"], "aab", true],
    [["*"], "", true],
    [["**x"], "xyx", true],
    [[], "tool", false]
  ] as const)("matches %s with alpha/%s: %s", (patterns, tool, expected) => {
    assert.strictEqual(matchesToolPattern(patterns, "alpha", tool), expected)
  })

  it("matches adversarial names in linear time", () => {
    const taken = cpuTime(() => assert.isFalse(matchesToolPattern(["*a*a*a*b"], "alpha", "a".repeat(20_000))))
    // Exhaustive backtracking would take days.
    assert.isBelow(taken, 5000)
  })

  it.prop(
    "equals the same regular expression",
    [Schema.Array(Schema.Literals(["a", "b", "*", "😀"])), Schema.Array(Schema.Literals(["a", "b", "😀"]))],
    ([pattern, text]) => {
      const expression = pattern.join("").replaceAll("*", ".*")
      const expected = new RegExp(`^${expression}$`, "su").test(text.join(""))
      assert.strictEqual(matchesToolPattern([pattern.join("")], "alpha", text.join("")), expected)
    }
  )
})
