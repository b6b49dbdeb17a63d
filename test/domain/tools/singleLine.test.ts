import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { singleLine } from "../../../src/domain/tools/singleLine.ts"

describe("singleLine", () => {
  it("replaces line breaks, controls and hidden characters by spaces", () => {
    assert.strictEqual(singleLine(" a\n\nb\u001b[31m\u202ec\u200bd\u2028e ", 50), "a b [31m c d e")
  })

  it("shortens a long text, and splits no character", () => {
    assert.strictEqual(singleLine("abcdef", 6), "abcdef")
    assert.strictEqual(singleLine("abcdefg", 6), "abcde…")
    assert.strictEqual(singleLine("abcd😀fg", 6), "abcd…")
  })

  it.prop(
    "has at most the length",
    [Schema.String, Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))],
    ([text, max]) => {
      assert.isAtMost(singleLine(text, max).length, max)
    }
  )
})
