import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"

const module = new URL("../../../src/adapters/process/optimization.ts", import.meta.url).href

/** Runs a function often, in a child process in which V8 may optimize it fully or not; true if it did. */
const isOptimized = (first: string): boolean => {
  const program = `
    import { setOptimization } from "${module}"
    const add = (sum, number) => sum + number
    const run = () => { for (let i = 0, sum = 0; i < 1e6; i++) sum = add(sum, i) }
    ${first}
    for (let times = 0; times < 20; times++) run()
    // The bit of V8 for code of TurboFan.
    console.log((%GetOptimizationStatus(run) & 0b1000000) !== 0)
  `
  const flags = ["--allow-natives-syntax", "--no-concurrent-recompilation", "--input-type=module", "--eval", program]
  return execFileSync(process.execPath, flags, { encoding: "utf8" }).trim() === "true"
}

describe("setOptimization", () => {
  it("lets V8 optimize no code fully", () => {
    assert.isTrue(isOptimized(""))
    assert.isFalse(isOptimized("setOptimization(false)"))
  })

  it("lets V8 optimize code fully that ran before", () => {
    assert.isTrue(isOptimized("setOptimization(false); run(); setOptimization(true)"))
  })

  it("lets V8 optimize code fully that its smaller compiler has optimized", () => {
    const runOften = "for (let times = 0; times < 30; times++) run()"
    assert.isTrue(isOptimized(`setOptimization(false); ${runOften}; setOptimization(true)`))
  })
})
