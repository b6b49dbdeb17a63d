import { assert, describe, it } from "@effect/vitest"
import { queryWords, singular, synonymsOf, wordsOf } from "../../../../src/domain/tools/search/words.ts"

describe("words", () => {
  it.each([
    ["boxes", "box"],
    ["branches", "branch"],
    ["entries", "entry"],
    ["tools", "tool"],
    ["files", "file"],
    ["access", "access"],
    ["status", "status"],
    ["analysis", "analysis"],
    ["alias", "alias"],
    ["dns", "dns"],
    ["größes", "größes"]
  ])("gives the singular of %s: %s", (plural, expected) => {
    assert.strictEqual(singular(plural), expected)
  })

  it("splits names and sentences", () => {
    assert.deepStrictEqual(wordsOf("listAll_branches-now: 2 Files"), ["list", "all", "branch", "now", "2", "file"])
  })

  it("omits words that name no task, and keeps a query of such words alone", () => {
    assert.deepStrictEqual(queryWords("what is in my inbox, inbox?", 10), ["inbox"])
    assert.deepStrictEqual(queryWords("who am I", 10), ["who", "am", "i"])
    assert.deepStrictEqual(queryWords("one two three", 2), ["two", "three"])
  })

  it("knows synonyms in both directions, in the singular", () => {
    assert.include([...synonymsOf("mail")], "email")
    assert.include([...synonymsOf("email")], "mail")
    assert.deepStrictEqual([...synonymsOf("documentation")], ["doc"])
    assert.deepStrictEqual([...synonymsOf("astrology")], [])
  })
})
