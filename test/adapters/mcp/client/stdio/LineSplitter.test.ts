import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { makeLineSplitter } from "../../../../../src/adapters/mcp/client/stdio/LineSplitter.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (given: Uint8Array) => new TextDecoder().decode(given)

const Words = Schema.Array(Schema.Literals(["", "a", "çé", "電話番号", '{"id":1}', "x".repeat(40)]))
const Cuts = Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })))

/** Splits a text into chunks of these lengths, repeatedly. */
const cut = (whole: Uint8Array, lengths: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const pieces: Array<Uint8Array> = []
  for (let at = 0, turn = 0; at < whole.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1
    pieces.push(whole.slice(at, at + length))
    at += length
  }
  return pieces
}

describe("LineSplitter", () => {
  it.prop("splits the same lines for any chunking", [Words, Cuts], ([lines, lengths]) => {
    const split = makeLineSplitter(1000)
    const found = cut(bytes(lines.map((line) => `${line}\n`).join("")), lengths).flatMap(split)
    assert.deepStrictEqual(
      found.map((line) => (line._tag === "Line" ? text(line.bytes) : line._tag)),
      lines
    )
  })

  it.prop("drops only lines beyond the limit", [Words, Cuts], ([lines, lengths]) => {
    const split = makeLineSplitter(20)
    const found = cut(bytes(lines.map((line) => `${line}\n`).join("")), lengths).flatMap(split)
    assert.deepStrictEqual(
      found.map((line) => (line._tag === "Line" ? text(line.bytes) : line._tag)),
      lines.map((line) => (bytes(line).length > 20 ? "TooLong" : line))
    )
  })

  it.prop("ends a UTF-16 line only at a whole newline, in either byte order", [Words, Cuts], ([words, lengths]) => {
    const lines = words.map((word) => `${word}ੁ਍上\u{10a}`)
    const little = Buffer.from(lines.map((line) => `${line}\n`).join(""), "utf16le")
    for (const [label, whole] of [
      ["utf-16le", little],
      ["utf-16be", Buffer.from(little).swap16()]
    ] as const) {
      const found = cut(whole, lengths).flatMap(makeLineSplitter(1000, 2))
      assert.deepStrictEqual(
        found.map((line) => (line._tag === "Line" ? new TextDecoder(label).decode(line.bytes) : line._tag)),
        lines
      )
    }
  })

  it("keeps both edges of an oversized line", () => {
    const split = makeLineSplitter(1000)
    const [line] = cut(bytes(`{"id":7,${"x".repeat(100_000)},"tail":8}\n`), [4096]).flatMap(split)
    assert.isTrue(line?._tag === "TooLong" && line.edges.length <= 512)
    const edges = line?._tag === "TooLong" ? text(line.edges) : ""
    assert.isTrue(edges.startsWith('{"id":7,') && edges.endsWith('"tail":8}'))
  })
})
