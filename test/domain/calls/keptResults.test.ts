import { assert, describe, it } from "@effect/vitest"
import { estimateSize, findSurplus } from "../../../src/domain/calls/tasksState.ts"

const limits = { count: 3, characters: 100, millis: 10 }

const kept = (
  ...results: ReadonlyArray<readonly [key: string, size: number, updatedAt: number, isRunning?: boolean]>
) =>
  new Map(
    results.map(([key, size, updatedAt, isRunning = false]) => [
      key,
      { size, state: { state: isRunning ? ("working" as const) : ("completed" as const), updatedAt } }
    ])
  )

describe("findSurplus", () => {
  it.each([
    ["nothing within the limits", kept(["a", 50, 1], ["b", 50, 2], ["c", 0, 3]), []],
    ["results at the end of their time", kept(["a", 1, 0], ["b", 1, 1]), ["a"]],
    [
      "the oldest results beyond the count",
      kept(["a", 1, 1], ["b", 1, 1], ["c", 1, 1], ["d", 1, 1], ["e", 1, 1]),
      ["a", "b"]
    ],
    ["the oldest results beyond the characters", kept(["a", 30, 1], ["b", 40, 1], ["c", 60, 1]), ["a"]],
    ["no running call, but the next result", kept(["a", 0, 0, true], ["b", 60, 1], ["c", 60, 1]), ["b"]],
    [
      "no running call beyond the count",
      kept(["a", 0, 1, true], ["b", 0, 1, true], ["c", 0, 1, true], ["d", 0, 1]),
      ["d"]
    ]
  ])("finds %s", (_, results, surplus) => {
    assert.deepStrictEqual(findSurplus(results, limits, 10), surplus)
  })
})

describe("estimateSize", () => {
  it.each([
    ["a text", "abc", 3],
    ["a number", 1, 8],
    ["nothing", null, 8],
    ["a list", ["ab", "c"], 3],
    ["an object", { a: { b: "abc" }, c: "d" }, 4]
  ])("counts the characters of %s", (_, value, size) => {
    assert.strictEqual(estimateSize(value), size)
  })

  it("counts no more than the given depth", () => {
    assert.deepStrictEqual([estimateSize(["abc"], 1), estimateSize([["abc"]], 1), estimateSize("abc", 0)], [3, 8, 3])
  })
})
