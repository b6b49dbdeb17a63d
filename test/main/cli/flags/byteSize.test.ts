import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { ByteSize, parseByteSize } from "../../../../src/main/cli/flags/setting.ts"

describe("parseByteSize", () => {
  it.each([
    ["65536", 65_536],
    ["64KiB", 65_536],
    ["64 kib", 65_536],
    ["1MB", 1_000_000],
    ["2GiB", 2 * 1024 ** 3],
    [" 5b ", 5]
  ])("parses %s as %d bytes", (text, bytes) => {
    assert.deepStrictEqual(parseByteSize(text), Option.some(bytes))
    assert.strictEqual(Schema.decodeSync(ByteSize)(text), bytes)
  })

  it.each(["", "KiB", "-1", "1.5MB", "1TB", "64KiBs", "1 2", "constructor", "999999999999GiB"])(
    "rejects %s",
    (text) => {
      assert.deepStrictEqual(parseByteSize(text), Option.none())
    }
  )

  it("states what a variable expects", () => {
    assert.throws(() => Schema.decodeSync(ByteSize)("much"), "expected a size such as 64KiB, 1MB or 65536")
  })
})
