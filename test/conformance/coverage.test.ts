import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { numbersIn, titlesOf } from "./caseNumbers.ts"
import { listFiles } from "../listFiles.ts"

/** The number of cases of the suite. */
const total = 361

/** Of all tests that name their cases, except those of Computers of functions, which run some of them again. */
const titles = listFiles("test")
  .filter((path) => path.endsWith(".test.ts") && !/coverage\.test|browser\/functions/.test(path))
  .flatMap((path) => titlesOf(readFileSync(path, "utf8")))

describe("conformance suite", () => {
  it("covers every case by a test", () => {
    const shown = new Set(titles.flatMap(numbersIn))
    const all = Array.from({ length: total }, (_, index) => index + 1)
    assert.deepStrictEqual(
      all.filter((number) => !shown.has(number)),
      []
    )
  })
})
