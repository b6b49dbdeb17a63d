import { assert, describe, it } from "@effect/vitest"
import { parseByteSize } from "../../../../src/main/cli/flags/setting.ts"

describe("parseByteSize", () => {
  it.each([
    ["65536", 65_536],
    ["64KiB", 65_536],
    ["64 kib", 65_536],
    ["1MB", 1_000_000],
    ["2GiB", 2 * 1024 ** 3],
    [" 5b ", 5]
  ])("parses %s as %d bytes", (text, bytes) => {
    assert.strictEqual(parseByteSize(text), bytes)
  })

  it.each(["", "KiB", "-1", "1.5MB", "1TB", "64KiBs", "1 2", "constructor", "999999999999GiB"])(
    "rejects %s",
    (text) => {
      assert.strictEqual(parseByteSize(text), undefined)
    }
  )
})
