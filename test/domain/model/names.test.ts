import { assert, describe, it } from "@effect/vitest"
import { checkName } from "../../../src/domain/model/names.ts"

describe("names", () => {
  it("may be in any script, with spaces and signs", () => {
    for (const name of ["办公室", "🤖 👩‍💻", "__proto__", "a b/c:d", "ü"]) {
      assert.isUndefined(checkName("name", name, 20))
    }
  })

  it("are not longer than they may be", () => {
    assert.isUndefined(checkName("name", "x".repeat(8), 8))
    assert.strictEqual(checkName("name", "x".repeat(9), 8), "name must not be longer than 8 characters")
  })

  it("do not break lines, terminals or UTF-8", () => {
    for (const name of ["a\nb", "\u001b[2J", "\u0000", "\u0085", "a\u2028b", "\ud800"]) {
      assert.include(checkName("name", name, 8), "control characters")
    }
  })
})
