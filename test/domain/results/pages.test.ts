import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { jsonSize, pageEnd, toCharacterStart } from "../../../src/domain/results/resultContent.ts"
import { parseResultUri } from "../../../src/domain/results/resultUris.ts"

const Budget = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64 }))

const piece = Schema.Literals(["a", "\n", '"', "\\", "\u0001", "é", "中", "😀", "\ud83d", "\udfff", "\ufeff"])

const pagesOf = (text: string, maxBytes: number): ReadonlyArray<string> => {
  const pages: Array<string> = []
  for (let start = 0; start < text.length; ) {
    const end = pageEnd(text, start, maxBytes)
    pages.push(text.slice(start, end))
    start = end
  }
  return pages
}

describe("pageEnd", () => {
  it.prop(
    "makes pages that concatenate to the whole, each within the budget",
    [Schema.Array(piece), Budget],
    ([pieces, max]) => {
      const text = pieces.join("")
      const pages = pagesOf(text, max)
      assert.strictEqual(pages.join(""), text)
      for (const page of pages) {
        // The quotes are no part of the page; a single character may exceed the budget.
        assert.isTrue(jsonSize(page) - 2 <= max || [...page].length === 1)
      }
    }
  )

  it.prop("fills a page", [Schema.Array(piece), Budget], ([pieces, max]) => {
    const text = pieces.join("")
    const end = pageEnd(text, 0, max)
    const next = String.fromCodePoint(text.codePointAt(end) ?? 0)
    assert.isTrue(end === text.length || jsonSize(text.slice(0, end)) - 2 + jsonSize(next) - 2 > max)
  })

  it.each([
    ["\u001f", 6],
    [" ", 1],
    ["\u007f", 1],
    ["\u0080", 2],
    ["\u07ff", 2],
    ["\u0800", 3],
    ["\ud7ff", 3],
    ["\ud800", 6],
    ["\udfff", 6],
    ["\ue000", 3],
    ["\uffff", 3],
    ["\u{10000}", 4],
    ["\b", 2],
    ["\t", 2],
    ["\f", 2],
    ["\r", 2]
  ])("counts %j as %d bytes, as JSON has it", (character, bytes) => {
    assert.strictEqual(jsonSize(character) - 2, bytes)
    const text = `a${character}`
    assert.strictEqual(pageEnd(text, 0, 1 + bytes), text.length)
    assert.strictEqual(pageEnd(text, 0, bytes), 1)
  })

  it("splits no character", () => {
    assert.strictEqual(pageEnd("a😀b", 0, 4), 1)
    assert.strictEqual(pageEnd("a😀b", 0, 5), 3)
  })
})

describe("toCharacterStart", () => {
  it("moves an offset within a character to its start", () => {
    assert.deepStrictEqual(
      [0, 1, 2, 3, 4, 5].map((offset) => toCharacterStart("a😀b", offset)),
      [0, 1, 1, 3, 4, 5]
    )
  })
})

describe("parseResultUri", () => {
  it.each([
    "window://desk/x",
    "result://",
    "result://a?offset=-1",
    "result://a/b",
    "result://a/1/2",
    "result://a?offset=1&x=2"
  ])("ignores %s", (uri) => {
    assert.isUndefined(parseResultUri(uri))
  })
})
