import { assert, describe, it } from "@effect/vitest"
import { queryWords, singular, synonymsOf, termsOf, wordsOf } from "../../../../src/domain/tools/search/words.ts"

describe("words", () => {
  it.each([
    ["boxes", "box"],
    ["branches", "branch"],
    ["entries", "entry"],
    ["ties", "tie"],
    ["movies", "movie"],
    ["cookies", "cookie"],
    ["series", "series"],
    ["species", "species"],
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

  it.each<[text: string, terms: ReadonlyArray<string>]>([
    ["天", ["天"]],
    ["天气", ["天气"]],
    ["天气预报", ["天气", "气预", "预报"]],
    ["𠮷野家", ["𠮷野", "野家"]],
    ["カレンダー", ["カレ", "レン", "ンダ", "ダー"]],
    ["调用API接口 now", ["调用", "api", "接口", "now"]],
    ["일정 보기", ["일정", "보기"]],
    ["weather forecast", ["weather", "forecast"]]
  ])("splits Chinese and Japanese into pairs of characters: %s", (text, terms) => {
    assert.deepStrictEqual(termsOf(wordsOf(text)), terms)
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
