import { assert, describe, it } from "@effect/vitest"
import { definedOnly, isShallowEqual } from "../../src/domain/objects.ts"

describe("definedOnly", () => {
  it("drops undefined members and keeps null", () => {
    assert.deepStrictEqual(Object.entries(definedOnly({ a: undefined, b: null, c: 0 })), [
      ["b", null],
      ["c", 0]
    ])
  })
})

describe("isShallowEqual", () => {
  const item = { a: 1 }

  it.each([
    ["two empty arrays", [], [], true],
    ["the same items", [item, 1], [item, 1], true],
    ["items in another order", [item, 1], [1, item], false],
    ["items of which one differs", [item, 1], [item, 2], false],
    ["equal items that are not the same", [item], [{ a: 1 }], false],
    ["a beginning of the other", [item], [item, 1], false],
    ["more than the other", [item, 1], [item], false]
  ] as const)("compares %s", (_, one, other, isEqual) => {
    assert.strictEqual(isShallowEqual(one, other), isEqual)
  })
})
