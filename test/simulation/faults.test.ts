import { assert, describe, it } from "vitest"
import { ruleNames } from "./invariants.ts"
import { planOf } from "./plan.ts"
import { detectionSeeds, findDetection, shrunk } from "./report.ts"
import { faults } from "./sabotage.ts"

const steps = 40

describe("planted fault", () => {
  it("covers every rule", () => {
    assert.sameMembers([...new Set(Object.values(faults).map(({ by }) => by))], [...ruleNames])
  })

  for (const [what, fault] of Object.entries(faults)) {
    it(`is detected: ${what}`, { timeout: 300_000 }, async () => {
      assert.isDefined(await findDetection(steps, fault), `${detectionSeeds} seeds do not detect it`)
    })
  }

  it("shrinks to few steps", { timeout: 300_000 }, async () => {
    const fault = faults["a leave is not notified"]
    assert.isDefined(fault)
    const outcome = await findDetection(steps, fault)
    assert.isDefined(outcome, "no seed detects it")
    const { outcome: smallest, plan } = await shrunk(outcome.seed, steps, outcome, fault.plant)
    assert.isNotEmpty(smallest.broken)
    assert.isBelow(plan.steps.length, planOf(outcome.seed, steps).steps.length / 3)
  })
})
