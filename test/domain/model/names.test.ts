import { assert, describe, it } from "@effect/vitest"
import { checkName } from "../../../src/domain/model/fields.ts"

describe("checkName", () => {
  it("accepts any script, spaces and symbols", () => {
    for (const name of ["办公室", "🤖 👩‍💻", "__proto__", "a b/c:d", "ü"]) {
      assert.isUndefined(checkName("name", name, 20))
    }
  })

  it("rejects names over the maximum length", () => {
    assert.isUndefined(checkName("name", "x".repeat(8), 8))
    assert.strictEqual(checkName("name", "x".repeat(9), 8), "name must not be longer than 8 characters")
  })

  it("rejects line breaks, control characters and unpaired surrogates", () => {
    for (const name of ["a\nb", "\u001b[2J", "\u0000", "\u0085", "a\u2028b", "\ud800"]) {
      assert.include(checkName("name", name, 8), "control characters")
    }
  })
})
