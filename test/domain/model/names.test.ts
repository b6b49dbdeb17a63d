import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { checkName, nameKey } from "../../../src/domain/model/names.ts"

describe("checkName", () => {
  it("accepts any script, spaces and symbols", () => {
    for (const name of ["办公室", "🤖 👩‍💻", "__proto__", "a b/c:d", "ü", "کامپیوتر", "कंप्यूटर", "a\u3000b"]) {
      assert.isUndefined(checkName("name", name, 20))
    }
  })

  it("rejects names over the maximum length", () => {
    assert.isUndefined(checkName("name", "x".repeat(8), 8))
    assert.strictEqual(checkName("name", "x".repeat(9), 8), "name must not be longer than 8 characters")
  })

  it("rejects line breaks, control characters and unpaired surrogates", () => {
    for (const name of ["a\nb", "\u001b[2J", "\u0000", "\u0085", "a\u2028b", "\ud800"]) {
      assert.include(checkName("name", name, 8), "control characters")
    }
  })

  it.each([
    ["zero-width space", "\u200b"],
    ["zero-width non-joiner", "\u200c"],
    ["zero-width joiner", "\u200d"],
    ["word joiner", "\u2060"],
    ["soft hyphen", "\u00ad"],
    ["combining grapheme joiner", "\u034f"],
    ["left-to-right mark", "\u200e"],
    ["Arabic letter mark", "\u061c"],
    ["right-to-left override", "\u202e"],
    ["isolate", "\u2067"],
    ["variation selector", "\ufe0f"],
    ["Hangul filler", "\u3164"],
    ["blank Braille pattern", "\u2800"],
    ["annotation mark", "\ufff9"],
    ["tag", "\u{e0061}"]
  ])("rejects an invisible character: %s", (_, character) => {
    for (const name of [`de${character}sk`, `desk${character}`, `${character}${character}`]) {
      assert.include(checkName("name", name, 20), "must not contain invisible characters")
    }
  })

  it("accepts joiners, variation selectors and tags only inside an emoji", () => {
    for (const name of ["👩‍💻", "❤️", "1️⃣", "🏳️‍🌈", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]) assert.isUndefined(checkName("name", name, 20))
    for (const name of ["👩\u200d", "\u200d👩", "1\ufe0f", "❤️\ufe0f", "🏴\u{e0068}\u{e0069}\u{e007f}"]) {
      assert.include(checkName("name", name, 20), "invisible")
    }
  })

  it("rejects white space at both ends", () => {
    for (const space of [" ", "\u00a0", "\u2003", "\u3000", "\u200a"]) {
      for (const name of [`${space}desk`, `desk${space}`, space]) {
        assert.strictEqual(checkName("office_id", name, 20), "office_id must not begin or end with white space")
      }
    }
  })
})

describe("the key of a name", () => {
  it.each([
    ["desk", "ｄｅｓｋ"],
    ["café", "cafe\u0301"],
    ["pc 1", "pc\u00a01"],
    ["pc 1", "pc ①"],
    ["❤", "❤️"]
  ])("is equal for %s and %s", (one, other) => {
    assert.strictEqual(nameKey(one), nameKey(other))
  })

  it("differs for names that differ in case, accents or script", () => {
    const names = ["desk", "Desk", "dësk", "desк", "桌", "__proto__"]
    assert.strictEqual(new Set(names.map(nameKey)).size, names.length)
  })

  it.prop(
    "is its own key",
    [Schema.String],
    ([name]) => {
      assert.strictEqual(nameKey(nameKey(name)), nameKey(name))
    },
    { arbitrary: { runs: 2000, size: 200 } }
  )
})
