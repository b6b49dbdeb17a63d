import { assert, describe, it } from "@effect/vitest"
import { formatTaskId, parseTaskId } from "../../../src/domain/office/taskIds.ts"

describe("id of a task", () => {
  it("names the Computer", () => {
    assert.strictEqual(formatTaskId({ id: "3f2a", computer: "a b" }), "3f2a@a%20b")
  })

  it("is not read from other texts", () => {
    for (const text of ["", "3f2a", "@desk", "3f2a@", "3f2a@%zz", "3f2a@desk\ud800"])
      assert.isUndefined(parseTaskId(text))
  })

  it("takes the rest of a text as the Computer", () => {
    assert.deepStrictEqual(parseTaskId("a@b@c"), { id: "a", computer: "b@c" })
    assert.deepStrictEqual(parseTaskId("a\n@b\nc"), { id: "a\n", computer: "b\nc" })
  })
})
