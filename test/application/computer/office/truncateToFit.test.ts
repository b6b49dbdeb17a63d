import { Result } from "effect"
import { assert, describe, it } from "vitest"
import { truncateToFit } from "../../../../src/application/computer/office/replyEncoders.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"

/** Truncates texts of these lengths by owner to a maximum message size, and counts the serializations. */
const outcome = (lengths: ReadonlyArray<readonly [owner: string, length: number]>, most: number) => {
  let writes = 0
  const items = lengths.map(([owner, length]) => owner.repeat(length))
  const found = truncateToFit(
    items,
    ([owner = ""]) => owner,
    (some) => {
      writes += 1
      return jsonBody(some)
    },
    (body) => body.byteLength() <= most
  )
  return { writes, left: found?.omitted, items: found && Result.getOrThrow(found.body.value()) }
}

describe("truncateToFit", () => {
  it("returns a list that fits unchanged", () => {
    assert.deepStrictEqual(
      outcome(
        [
          ["a", 3],
          ["b", 2]
        ],
        100
      ),
      { writes: 1, left: [], items: ["aaa", "bb"] }
    )
  })

  it("omits the owner with the largest total", () => {
    const { items, left } = outcome(
      [
        ["a", 5],
        ["b", 8],
        ["a", 5],
        ["c", 1]
      ],
      20
    )
    assert.deepStrictEqual(left, ["a"])
    assert.deepStrictEqual(items, ["bbbbbbbb", "c"])
  })

  it("omits the larger owners first, in the order of their totals", () => {
    const { items, left } = outcome(
      [
        ["c", 1],
        ["b", 8],
        ["a", 5],
        ["a", 5]
      ],
      6
    )
    assert.deepStrictEqual(left, ["a", "b"])
    assert.deepStrictEqual(items, ["c"])
  })

  it("omits as few owners as possible", () => {
    const { items, left } = outcome(
      [
        ["a", 40],
        ["b", 30],
        ["c", 20],
        ["d", 10],
        ["e", 5]
      ],
      45
    )
    assert.deepStrictEqual(left, ["a", "b"])
    assert.deepStrictEqual(items, ["c".repeat(20), "d".repeat(10), "e".repeat(5)])
  })

  it("returns undefined when the items of no owner fit", () => {
    assert.deepInclude(
      outcome(
        [
          ["a", 40],
          ["b", 30]
        ],
        20
      ),
      { left: undefined, items: undefined }
    )
    assert.deepInclude(outcome([["a", 40]], 20), { left: undefined, items: undefined })
  })

  it("needs few attempts among many owners", () => {
    const many = Array.from({ length: 1000 }, (_, index) => [String.fromCodePoint(0x4e00 + index), 10] as const)
    const { left = [], writes } = outcome(many, 3400)
    assert.isAbove(left.length, 800)
    assert.isBelow(writes, 15)
  })
})
