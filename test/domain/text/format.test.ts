import { assert, describe, it } from "@effect/vitest"
import { formatQuantity } from "../../../src/domain/text/format.ts"

describe("formatQuantity", () => {
  it("uses the singular for exactly one", () => {
    assert.deepStrictEqual(
      [0, 1, 2].map((count) => formatQuantity(count, "note")),
      ["0 notes", "1 note", "2 notes"]
    )
  })
})
