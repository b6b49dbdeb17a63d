import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type DiffLine, diffLines, groupDiff, maxDiffLines } from "../../../src/domain/approvals/diffLines.ts"

const signs = { same: "  ", removed: "- ", added: "+ " } as const

const write = (lines: ReadonlyArray<DiffLine>): ReadonlyArray<string> =>
  lines.map(({ kind, text }) => `${signs[kind]}${text}`)

const join = (lines: ReadonlyArray<DiffLine>, kind: DiffLine["kind"]): string =>
  lines
    .filter((line) => line.kind === "same" || line.kind === kind)
    .map(({ text }) => text)
    .join("\n")

const numbered = (count: number, word: string): string =>
  Array.from({ length: count }, (_, index) => `${word} ${index}`).join("\n")

/** Texts of few different lines, which have much in common. */
const Texts = Schema.Array(Schema.Literals(["", "a", "b", "{", "}"]))

describe("diffLines", () => {
  it.each([
    ["a\nb\nc", "a\nc", ["  a", "- b", "  c"]],
    ["a\nc", "a\nb\nc", ["  a", "+ b", "  c"]],
    ["a\nb", "a\nc", ["  a", "- b", "+ c"]],
    ["a\nb\nc\nd", "b\nx\nd\ne", ["- a", "  b", "- c", "+ x", "  d", "+ e"]],
    ["a", "a", ["  a"]],
    ["", "", ["  "]],
    ["", "a", ["- ", "+ a"]],
    ["a\na", "a", ["  a", "- a"]]
  ])("compares %j with %j", (before, after, lines) => {
    assert.deepStrictEqual(write(diffLines(before, after)), lines)
  })

  it.prop("gives both texts back", [Schema.String, Schema.String], ([before, after]) => {
    const lines = diffLines(before, after)
    assert.deepStrictEqual([join(lines, "removed"), join(lines, "added")], [before, after])
  })

  it.prop("gives both texts back, and keeps what they have in common", [Texts, Texts], ([one, other]) => {
    const [before, after] = [one.join("\n"), other.join("\n")]
    const lines = diffLines(before, after)
    assert.deepStrictEqual([join(lines, "removed"), join(lines, "added")], [before, after])
    // Swapped texts have a common subsequence of the same length.
    const count = (all: ReadonlyArray<DiffLine>) => all.filter(({ kind }) => kind === "same").length
    assert.strictEqual(count(lines), count(diffLines(after, before)))
  })

  it.prop("finds no difference between a text and itself", [Schema.String], ([text]) => {
    assert.isTrue(diffLines(text, text).every(({ kind }) => kind === "same"))
  })

  it("replaces all lines between the common ends when too many of them differ", () => {
    const before = `{\n${numbered(maxDiffLines + 1, "old")}\nshared\n}`
    const after = `{\nshared\n${numbered(3, "new")}\n}`
    const lines = diffLines(before, after)
    assert.strictEqual(lines.filter(({ kind }) => kind === "same").length, 2)
    assert.deepStrictEqual([join(lines, "removed"), join(lines, "added")], [before, after])
  })

  it("compares texts of the largest number of lines", () => {
    const [before, after] = [
      `${numbered(maxDiffLines - 1, "old")}\nshared`,
      `shared\n${numbered(maxDiffLines - 1, "new")}`
    ]
    assert.strictEqual(diffLines(before, after).filter(({ kind }) => kind === "same").length, 1)
  })

  it("compares the largest arguments within seconds", () => {
    const text = numbered(60_000, "line")
    const start = performance.now()
    groupDiff(diffLines(text, `${numbered(60_000, "other")}\n${text}`))
    groupDiff(diffLines("x".repeat(250_000), `${"x".repeat(250_000)}y`))
    assert.isBelow(performance.now() - start, 10_000)
  })
})

describe("groupDiff", () => {
  it("joins lines of one kind, and counts unchanged lines far from a change", () => {
    const common = numbered(10, "line")
    assert.deepStrictEqual(groupDiff(diffLines(`${common}\na\nb\n${common}\nend`, `${common}\nc\n${common}\nfin`)), [
      { kind: "omitted", text: "", count: 7 },
      { kind: "same", text: "line 7\nline 8\nline 9", count: 3 },
      { kind: "removed", text: "a\nb", count: 2 },
      { kind: "added", text: "c", count: 1 },
      { kind: "same", text: "line 0\nline 1\nline 2", count: 3 },
      { kind: "omitted", text: "", count: 4 },
      { kind: "same", text: "line 7\nline 8\nline 9", count: 3 },
      { kind: "removed", text: "end", count: 1 },
      { kind: "added", text: "fin", count: 1 }
    ])
  })

  it("shows a single line rather than its count", () => {
    assert.deepStrictEqual(groupDiff(diffLines("a\nb\nc\nd\nold", "a\nb\nc\nd\nnew")).slice(0, 1), [
      { kind: "same", text: "a\nb\nc\nd", count: 4 }
    ])
  })

  it.prop("gives the changed lines and the number of all lines", [Texts, Texts], ([one, other]) => {
    const lines = diffLines(one.join("\n"), other.join("\n"))
    const parts = groupDiff(lines)
    const total = parts.reduce((sum, { count }) => sum + count, 0)
    assert.strictEqual(total, lines.length)
    for (const kind of ["removed", "added"] as const) {
      assert.deepStrictEqual(
        parts.filter((part) => part.kind === kind).flatMap(({ text }) => text.split("\n")),
        lines.filter((line) => line.kind === kind).map(({ text }) => text)
      )
    }
    // Adjacent parts differ in their kind.
    assert.isTrue(parts.every(({ kind }, index) => index === 0 || parts[index - 1]?.kind !== kind))
  })
})
