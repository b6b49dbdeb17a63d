import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { matchesToolPattern } from "../../../src/domain/tools/toolPatterns.ts"

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
    [["*b*a"], "abcba", true],
    [["*b*a"], "abcbac", false],
    [["*ab*"], "aab", true],
    [["?"], "😀", true],
    [["?"], "", false],
    [["*"], "", true],
    [["**x"], "xyx", true],
    [[], "tool", false]
  ] as const)("%s covers alpha/%s: %s", (patterns, tool, expected) => {
    assert.strictEqual(matchesToolPattern(patterns, "alpha", tool), expected)
  })

  it("a name that is made to be hard to match costs no time", () => {
    const began = performance.now()
    assert.isFalse(matchesToolPattern(["*a*a*a*b"], "alpha", "a".repeat(20_000)))
    // Tried in every way it would take days.
    assert.isBelow(performance.now() - began, 5000)
  })

  it.prop(
    "every pattern covers what the same expression does",
    [
      Schema.Array(Schema.Literals(["a", "b", "*", "?", "😀"])),
      Schema.Array(Schema.Literals(["a", "b", "😀"]))
    ],
    ([pattern, text]) => {
      const expression = pattern.join("").replaceAll("*", ".*").replaceAll("?", ".")
      const expected = new RegExp(`^${expression}$`, "su").test(text.join(""))
      assert.strictEqual(matchesToolPattern([pattern.join("")], "alpha", text.join("")), expected)
    }
  )
})
