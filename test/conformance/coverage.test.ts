import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { listFiles } from "../listFiles.ts"

/** The number of cases of the suite. */
const total = 361

/** Parses the numbers in `012`, `012, 014 and 016` or `012 to 016`. */
const numbersIn = (text: string): ReadonlyArray<number> =>
  [...text.matchAll(/(\d{3})(?:\s+to\s+(\d{3}))?/g)].flatMap(([, from, to = from]) => {
    const first = Number(from)
    return Array.from({ length: Number(to) - first + 1 }, (_, index) => first + index)
  })

/** The titles of all tests, which name their cases. */
const titles = listFiles("test")
  .filter((path) => path.endsWith(".test.ts") && !path.endsWith("coverage.test.ts"))
  .flatMap((path) => [...readFileSync(path, "utf8").matchAll(/cases? (\d{3}[^:`"]*):/g)])
  .map(([, numbers = ""]) => numbers)

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
