import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { hasAtMostParts } from "../../src/domain/json.ts"
import { makeDecoder } from "../../src/domain/validation.ts"

const decode = makeDecoder(Schema.Struct({ name: Schema.String, words: Schema.Array(Schema.String) }))

const errorOf = (input: unknown): string => Result.getOrThrow(Result.flip(decode(input)))

describe("makeDecoder", () => {
  it("reports all errors of a small input", () => {
    assert.strictEqual(errorOf({ words: [1, "a", 2] }).split("; ").length, 3)
  })

  it("formats the first of many errors, and counts the others", () => {
    const error = errorOf({ name: "a", words: Array.from({ length: 900 }, () => 0) })
    assert.lengthOf(error.split("; "), 11)
    assert.match(error, /; and 890 more$/)
  })

  it("formats the start of a deep path", () => {
    interface Nested {
      readonly inner?: Nested
    }
    const Nested: Schema.Codec<Nested> = Schema.Struct({
      inner: Schema.optionalKey(Schema.suspend((): Schema.Codec<Nested> => Nested))
    })
    let deep: unknown = 1
    for (let level = 0; level < 500; level++) deep = { inner: deep }
    assert.isBelow(Result.getOrThrow(Result.flip(makeDecoder(Nested)(deep))).length, 400)
  })

  it("reports the first error of a large input", () => {
    const input = { name: "a", words: Array.from({ length: 1_000_000 }, () => 0) }
    assert.match(errorOf(input), /^words\[0\]: [^;]*$/)
  })

  it("quotes the start of a long key", () => {
    const decodeRecord = makeDecoder(Schema.Record(Schema.String, Schema.String))
    const error = Result.getOrThrow(Result.flip(decodeRecord({ ["k".repeat(1_000_000)]: 0 })))
    assert.isBelow(error.length, 500)
  })
})

describe("hasAtMostParts", () => {
  it("counts members and items at every depth", () => {
    const value = { a: [1, { b: 2 }], c: "text" }
    assert.isTrue(hasAtMostParts(value, 6))
    assert.isFalse(hasAtMostParts(value, 5))
  })

  it("stops before it has seen all of a large value", () => {
    let seen = 0
    const list = Array.from({ length: 100 }, () => new Proxy({}, { ownKeys: () => (seen++, []) }))
    assert.isFalse(hasAtMostParts(list, 50))
    assert.strictEqual(seen, 0)
  })
})
