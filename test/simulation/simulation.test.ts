import { assert, describe, it } from "vitest"
import { planOf } from "./plan.ts"
import { runSeed, shrunk, spellFailure } from "./report.ts"
import { faults } from "./sabotage.ts"

const steps = 50

/** So many seeds find every fault. */
const enough = 40

describe("a simulated world", () => {
  for (let first = 0; first < 200; first += 50) {
    it(`keeps its rules, seeds ${first} to ${first + 49}`, { timeout: 120_000 }, async () => {
      for (let seed = first; seed < first + 50; seed++) {
        const outcome = await runSeed(seed, steps)
        assert.isEmpty(outcome.broken, spellFailure(outcome))
      }
    })
  }

  it("is the same for the same seed, byte for byte", async () => {
    for (const seed of [1, 2, 3]) {
      const [one, other] = [await runSeed(seed, 200), await runSeed(seed, 200)]
      assert.isAbove(one.trace.length, 200)
      assert.strictEqual(one.trace.join("\n"), other.trace.join("\n"))
    }
  })
})

describe("a planted fault", () => {
  for (const [what, sabotage] of Object.entries(faults)) {
    it(`is found: ${what}`, { timeout: 120_000 }, async () => {
      for (let seed = 0; seed < enough; seed++) {
        const { broken } = await runSeed(seed, steps, sabotage)
        if (broken.length > 0) return
      }
      assert.fail(`${enough} seeds have not found it`)
    })
  }

  it("is shown by few steps", { timeout: 120_000 }, async () => {
    const sabotage = faults["a leave is not told"]
    for (let seed = 0; seed < enough; seed++) {
      const outcome = await runSeed(seed, steps, sabotage)
      if (outcome.broken.length === 0) continue
      const { outcome: smallest, plan } = await shrunk(seed, steps, outcome, sabotage)
      assert.isNotEmpty(smallest.broken)
      assert.isBelow(plan.steps.length, planOf(seed, steps).steps.length / 3)
      return
    }
    assert.fail("nothing was found")
  })
})
