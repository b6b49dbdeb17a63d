import { assert, describe, it } from "@effect/vitest"
import { appendBytes, copyToBuffer, emptyBuffer, bytesOf } from "../../../../src/domain/devices/framing/byteBuffer.ts"
import { capacity } from "../frames.ts"
import { characters, latin1 } from "../streams.ts"

const bytes = (held: Parameters<typeof bytesOf>[0]): string => characters(bytesOf(held))

describe("byte buffer", () => {
  it("stays unchanged when another buffer appends to it", () => {
    const begun = appendBytes(emptyBuffer, latin1("abc"), 100)
    const [one, other] = [appendBytes(begun, latin1("1"), 100), appendBytes(begun, latin1("2"), 100)]
    const more = appendBytes(one, latin1("3"), 100)
    assert.deepStrictEqual([begun, one, other, more].map(bytes), ["abc", "abc1", "abc2", "abc13"])
  })

  it("appends in place to the latest buffer", () => {
    const begun = appendBytes(emptyBuffer, latin1("abc"), 100)
    assert.strictEqual(appendBytes(begun, latin1("1"), 100).store, begun.store)
    assert.notStrictEqual(appendBytes(begun, latin1("2"), 100).store, begun.store)
  })

  it("doubles its memory up to the maximum capacity", () => {
    assert.strictEqual(capacity(appendBytes(copyToBuffer(latin1("abc")), latin1("d"), 100)), 8)
    assert.strictEqual(capacity(appendBytes(copyToBuffer(latin1("abc")), latin1("d"), 5)), 5)
    assert.strictEqual(capacity(appendBytes(copyToBuffer(latin1("abc")), latin1("def"), 5)), 6)
  })

  it("copies its source", () => {
    const given = latin1("abcdef")
    const held = copyToBuffer(given.subarray(0, 2))
    given.fill(0)
    assert.deepStrictEqual([bytes(held), capacity(held)], ["ab", 2])
  })
})
