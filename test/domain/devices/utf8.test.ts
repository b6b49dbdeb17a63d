import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { decodeUtf8, decodeUtf8Lossy, encodeUtf8 } from "../../../src/domain/utf8.ts"
import { latin1 } from "./streams.ts"

describe("UTF-8 decoding", () => {
  it.prop("preserves any text except a leading byte order mark", [Schema.String], ([given]) => {
    const text = given.toWellFormed().replace(/^\ufeff/, "")
    assert.deepStrictEqual(decodeUtf8(encodeUtf8(text)), Option.some(text))
    assert.strictEqual(decodeUtf8Lossy(encodeUtf8(text)), text)
  })

  it("removes one byte order mark", () => {
    assert.deepStrictEqual(decodeUtf8(encodeUtf8("\ufeff\ufeffa")), Option.some("\ufeffa"))
    assert.strictEqual(decodeUtf8Lossy(encodeUtf8("\ufeffa")), "a")
  })

  it("fails on an invalid byte without affecting the next text", () => {
    for (const bytes of ["\xff", "a\xe7\x8e", "\xed\xa0\x80", "\xc0\xaf"]) {
      assert.deepStrictEqual(decodeUtf8(latin1(bytes)), Option.none())
      assert.deepStrictEqual(decodeUtf8(latin1("a")), Option.some("a"))
    }
  })

  it("replaces invalid bytes in lossy mode", () => {
    assert.strictEqual(decodeUtf8Lossy(latin1("a\xffb")), "a\ufffdb")
  })

  it("replaces half of a character", () => {
    assert.deepStrictEqual(decodeUtf8(encodeUtf8("\ud800")), Option.some("\ufffd"))
  })
})
