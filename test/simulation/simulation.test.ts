import { execFileSync, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"
import { ruleNames } from "./invariants.ts"
import { readOptions } from "./options.ts"
import { planOf } from "./plan.ts"
import { enoughSeeds, noticed, runSeed, shrunk, spellFailure } from "./report.ts"
import { faults } from "./sabotage.ts"

const steps = 40

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

describe("its options", () => {
  for (const [args, reason] of [
    [["--steps", "0"], "--steps must be a whole number from 1 to 1000000"],
    [["--seeds", ""], "--seeds must be a whole number from 1 to 1000000000"],
    [["--fault", "bad luck"], 'There is no fault "bad luck"; there are an answer is lost, ']
  ] as const) {
    it(`are refused: ${args.join(" ")}`, () => {
      assert.throws(() => readOptions(args), reason)
    })
  }
})

describe("a planted fault", () => {
  it("shows every rule that it can fail", () => {
    assert.sameMembers([...new Set(Object.values(faults).map(({ by }) => by))], [...ruleNames])
  })

  for (const [what, fault] of Object.entries(faults)) {
    it(`is found: ${what}`, { timeout: 120_000 }, async () => {
      assert.isDefined(await noticed(steps, fault), `${enoughSeeds} seeds have not found it`)
    })
  }

  it("is shown by few steps", { timeout: 120_000 }, async () => {
    const fault = faults["a leave is not told"]
    assert.isDefined(fault)
    const outcome = await noticed(steps, fault)
    assert.isDefined(outcome, "nothing was found")
    const { outcome: smallest, plan } = await shrunk(outcome.seed, steps, outcome, fault.plant)
    assert.isNotEmpty(smallest.broken)
    assert.isBelow(plan.steps.length, planOf(outcome.seed, steps).steps.length / 3)
  })
})
