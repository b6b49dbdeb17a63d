import { assert, describe, it } from "@effect/vitest"
import { formatJsonForTerminal, quoteForTerminal } from "../../../src/adapters/terminal/foreignFields.ts"

/** The columns that a text takes when every character outside ASCII takes two. */
const columnsOf = (text: string): number =>
  [...text].reduce((sum, character) => sum + (/^[ -~]$/.test(character) ? 1 : 2), 0)

describe("quoted text", () => {
  it.each([
    ["", '""'],
    ["abc", '"abc"'],
    ['a"b\\', String.raw`"a\"b\\"`],
    ["a\u001b[2Jb", String.raw`"a\u001b[2Jb"`],
    ["漢", '"漢"']
  ])("shows %j with its escapes", (text, quoted) => {
    assert.strictEqual(quoteForTerminal(text, 40), quoted)
  })

  it("fits with its quotes into the columns", () => {
    assert.strictEqual(quoteForTerminal("x".repeat(38), 40), `"${"x".repeat(38)}"`)
    assert.notStrictEqual(quoteForTerminal("x".repeat(39), 40), `"${"x".repeat(39)}"`)
    assert.strictEqual(quoteForTerminal("漢".repeat(19), 40), `"${"漢".repeat(19)}"`)
    assert.notStrictEqual(quoteForTerminal("漢".repeat(20), 40), `"${"漢".repeat(20)}"`)
  })

  it("shows the start and the end of a longer one", () => {
    assert.strictEqual(quoteForTerminal(`start ${"x".repeat(100)} end`, 24), '"start xx" … "xxxx end"')
    assert.strictEqual(quoteForTerminal(`start ${"x".repeat(100)} end`, 30), '"start xxxxx" … "xxxxxxx end"')
  })

  it("shows only the start in less than 24 columns", () => {
    assert.strictEqual(quoteForTerminal(`start ${"x".repeat(100)} end`, 23), '"start xxxxxxxxxxxxx"…')
  })

  it.each(["x".repeat(1000), "漢".repeat(1000), "\u001b".repeat(1000), '"'.repeat(1000), "x".repeat(40)])(
    "never exceeds the columns (%#)",
    (text) => {
      for (let columns = 10; columns <= 120; columns++) {
        assert.isAtMost(columnsOf(quoteForTerminal(text, columns)), columns)
      }
    }
  )

  it("uses the columns as far as it can", () => {
    for (let columns = 24; columns <= 120; columns++) {
      assert.isAtLeast(columnsOf(quoteForTerminal("x".repeat(1000), columns)), columns - 2)
    }
  })
})

describe("JSON for a terminal", () => {
  const linesOf = (value: unknown, columns = 40, maxLines = 20) => formatJsonForTerminal(value, columns, maxLines)

  it("is indented as by JSON.stringify", () => {
    const value = { a: [1, "x", null, [], {}, { b: [true] }], "c d": { e: {} }, f: [[]] }
    assert.deepStrictEqual(linesOf(value), { lines: JSON.stringify(value, null, 2).split("\n"), isTruncated: false })
  })

  it.each([["text"], [1], [null], [[]], [{}]])("has one line for %j", (value) => {
    assert.deepStrictEqual(linesOf(value), { lines: [JSON.stringify(value)], isTruncated: false })
  })

  it("is escaped", () => {
    assert.deepStrictEqual(linesOf({ "\u009b": "\u202e" }).lines, ["{", String.raw`  "\u009b": "\u202e"`, "}"])
  })

  it("is truncated after the last line that fits", () => {
    assert.deepStrictEqual(linesOf([1, 2], 40, 4), { lines: ["[", "  1,", "  2", "]"], isTruncated: false })
    assert.deepStrictEqual(linesOf([1, 2], 40, 3), { lines: ["[", "  1,", "  2"], isTruncated: true })
  })

  it("wraps a line that exceeds the columns", () => {
    assert.deepStrictEqual(linesOf("x".repeat(18), 20).lines, [`"${"x".repeat(18)}"`])
    assert.deepStrictEqual(linesOf("x".repeat(19), 20).lines, [`"${"x".repeat(19)}`, '"'])
    assert.deepStrictEqual(linesOf("漢".repeat(10), 20).lines, [`"${"漢".repeat(9)}`, '漢"'])
  })

  it("shows the start of a long text on all its lines", () => {
    const { isTruncated, lines } = linesOf("x".repeat(1_000_000), 20, 3)
    assert.deepStrictEqual(lines, [`"${"x".repeat(19)}`, "x".repeat(20), "x".repeat(20)])
    assert.isTrue(isTruncated)
  })
})
