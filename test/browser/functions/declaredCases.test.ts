import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { numbersIn, titlesOf } from "../../conformance/caseNumbers.ts"
import { listFiles } from "../../listFiles.ts"
import { computerCases, declaredCases } from "./declaredCases.ts"

const run = new Set(
  listFiles("test/browser/functions")
    .filter((path) => path.endsWith(".test.ts") && !path.endsWith("declaredCases.test.ts"))
    .flatMap((path) => titlesOf(readFileSync(path, "utf8")).flatMap(numbersIn))
)
const declared = declaredCases.flatMap(([cases]) => numbersIn(cases))

describe("the suite of Computers of functions", () => {
  it("runs or declares each case of a Computer once", () => {
    const sorted = [...run, ...declared].toSorted((one, other) => one - other)
    assert.deepStrictEqual(sorted, [...numbersIn(computerCases)])
  })
})
