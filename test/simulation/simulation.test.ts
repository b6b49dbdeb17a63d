import { execFileSync, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"
import { parseOptions } from "./options.ts"
import { formatFailure, runSeed } from "./report.ts"

const steps = 40

describe("simulation", () => {
  // The suite `simulation` runs 150.
  it("keeps the rules with seeds 0 to 5", { timeout: 300_000 }, async () => {
    for (let seed = 0; seed < 6; seed++) {
      const outcome = await runSeed(seed, steps)
      assert.isEmpty(outcome.broken, formatFailure(outcome))
    }
  })

  it("repeats a seed byte for byte", async () => {
    const [one, other] = [await runSeed(1, 100), await runSeed(1, 100)]
    assert.isAbove(one.trace.length, 100)
    assert.strictEqual(one.trace.join("\n"), other.trace.join("\n"))
  })
})

describe("simulation command", () => {
  const command = fileURLToPath(new URL("run.ts", import.meta.url))

  it("replays a seed, byte for byte", () => {
    const replay = () => execFileSync(process.execPath, [command, "--seed", "4", "--steps", "60"], { encoding: "utf8" })
    const one = replay()
    assert.include(one, "step 60: ")
    assert.strictEqual(one, replay())
  })

  it("prints the failing seed, the broken rule and the trace", () => {
    const args = [command, "--seeds", "5", "--steps", "60", "--fault", "a join is notified twice"]
    const { status, stderr, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" })
    assert.strictEqual(status, 1, stderr)
    assert.match(stdout, /^seed \d breaks membershipChangesAreNotifiedOnce/)
    assert.match(stdout, /npm run simulate -- --seed \d --steps 60 --fault "a join is notified twice"/)
  })
})

describe("simulation option", () => {
  for (const [args, reason] of [
    [["--steps", "0"], "--steps must be a whole number from 1 to 1000000"],
    [["--seeds", ""], "--seeds must be a whole number from 1 to 1000000000"],
    [["--fault", "bad luck"], 'There is no fault "bad luck"; there are a reply is lost, ']
  ] as const) {
    it(`rejects ${args.join(" ")}`, () => {
      assert.throws(() => parseOptions(args), reason)
    })
  }
})
