import { execFileSync, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"
import { planOf } from "./plan.ts"
import { runSeed, shrunk, spellFailure } from "./report.ts"
import { faults } from "./sabotage.ts"

const steps = 40

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

describe("the command", () => {
  const command = fileURLToPath(new URL("run.ts", import.meta.url))

  it("replays a seed, byte for byte", () => {
    const replay = () =>
      execFileSync(process.execPath, [command, "--seed", "4", "--steps", "60"], { encoding: "utf8" })
    const one = replay()
    assert.include(one, "step 60: ")
    assert.strictEqual(one, replay())
  })

  it("says which seed fails, by which rule, and how it came to it", () => {
    const args = [command, "--seeds", "5", "--steps", "60", "--fault", "a join is told twice"]
    const { status, stderr, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" })
    assert.strictEqual(status, 1, stderr)
    assert.match(stdout, /^seed \d breaks everyMoveIsToldOnce/)
    assert.match(stdout, /npm run simulate -- --seed \d --steps 60 --fault "a join is told twice"/)
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
