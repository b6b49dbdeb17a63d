import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { decodeUtf8, decodeUtf8Lossy, encodeUtf8 } from "../../../src/domain/utf8.ts"
import { latin1 } from "./streams.ts"

describe("UTF-8", () => {
  it.prop("brings any text back, but for a mark at its beginning", [Schema.String], ([given]) => {
    const text = given.toWellFormed().replace(/^\ufeff/, "")
    assert.deepStrictEqual(decodeUtf8(encodeUtf8(text)), Option.some(text))
    assert.strictEqual(decodeUtf8Lossy(encodeUtf8(text)), text)
  })

  it("leaves one byte order mark out", () => {
    assert.deepStrictEqual(decodeUtf8(encodeUtf8("\ufeff\ufeffa")), Option.some("\ufeffa"))
    assert.strictEqual(decodeUtf8Lossy(encodeUtf8("\ufeffa")), "a")
  })

  it("is none when a byte is wrong, and the next text is none the worse", () => {
    for (const bytes of ["\xff", "a\xe7\x8e", "\xed\xa0\x80", "\xc0\xaf"]) {
      assert.deepStrictEqual(decodeUtf8(latin1(bytes)), Option.none())
      assert.deepStrictEqual(decodeUtf8(latin1("a")), Option.some("a"))
    }
  })

  it("leniently is readable all the same", () => {
    assert.strictEqual(decodeUtf8Lossy(latin1("a\xffb")), "a\ufffdb")
  })

  it("has a character for half of one", () => {
    assert.deepStrictEqual(decodeUtf8(encodeUtf8("\ud800")), Option.some("\ufffd"))
  })
})
