import { assert, describe, it } from "@effect/vitest"
import { readOptions } from "./options.ts"

describe("chaos options", () => {
  const rows: ReadonlyArray<readonly [string, ReadonlyArray<number>]> = [
    ["", [1]],
    ["--seed 7", [7]],
    ["--seed 7 --seed 3", [7, 3]],
    ["--seeds 3", [1, 2, 3]],
    ["--seeds 2 --seed 40", [40, 41]]
  ]
  for (const [line, seeds] of rows) {
    it(`accepts "${line}" as seeds ${seeds.join(", ")}`, () =>
      assert.deepStrictEqual(readOptions(line.split(" ").filter(Boolean)).seeds, seeds))
  }

  for (const line of ["--seeds 2 --seed 1 --seed 2", "--seeds 0", "--seed x", "--seeds 1001", "--else"]) {
    it(`rejects "${line}"`, () => assert.throws(() => readOptions(line.split(" "))))
  }
})
