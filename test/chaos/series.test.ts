import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { ChaosReport } from "./chaos.ts"
import { exitCodes } from "./command.ts"
import { answerOf, exitCodeOf, type Run, formatRuns } from "./series.ts"

const report = (seed: number, more: Partial<ChaosReport> = {}): ChaosReport => ({
  seed,
  seconds: 10,
  tally: {
    started: 10,
    answered: 6,
    failed: { "refusal 404": 2, Disconnected: 1 },
    abandoned: 1,
    lost: [],
    broken: [],
    wrong: [],
    twice: [],
    executed: 8,
    executedTwice: [],
    misplaced: []
  },
  faults: { "Redis is stopped": 1 },
  recoveries: [{ kind: "Redis is stopped", pair: "ada → desk", millis: 1500, disturbed: false }],
  outages: [],
  dead: [],
  deaths: [],
  diagnosis: [],
  ...more
})
const run = (seed: number, more: Partial<ChaosReport> = {}): Run => ({
  seed,
  found: Result.succeed(report(seed, more))
})
const failed: Run = { seed: 9, found: Result.fail("No /usr/bin/redis-server\nat all") }
const slow = { kind: "Redis is stopped", pair: "ada → desk", millis: 4200, disturbed: false }

describe("series of chaos runs", () => {
  it("succeeds when each run does", () => {
    const runs = [run(1), run(2, { recoveries: [slow] })]
    assert.strictEqual(exitCodeOf(runs), exitCodes.fine)
    assert.strictEqual(
      answerOf(runs),
      "fine: 2 seeds, 20 calls: 12 answered, 6 ended with an error, 2 abandoned, 0 lost, 0 double, 0 wrong; " +
        "the slowest pair worked again after 4.2 s"
    )
  })

  it("fails when one run fails, and names its seed", () => {
    const { tally } = report(1)
    const runs = [
      run(1),
      run(2, { tally: { ...tally, lost: ["a"], twice: ["b"], executedTwice: ["c"], misplaced: ["d"] } }),
      run(3, { dead: ["ada → desk"], diagnosis: ["ada is stopped"] })
    ]
    assert.strictEqual(exitCodeOf(runs), exitCodes.wrong)
    const answer = answerOf(runs)
    assert.include(answer, "1 lost, 2 double, 1 wrong")
    assert.include(answer, "1 did not")
    assert.include(answer, "wrong with seed 2, 3")
    assert.include(formatRuns(runs), "ada is stopped")
  })

  it("has no result when a run is missing, unless another one fails", () => {
    assert.strictEqual(exitCodeOf([run(1), failed]), exitCodes.notJudged)
    assert.include(answerOf([run(1), failed]), "1 did not finish")
    assert.include(formatRuns([run(1), failed]), "9  No /usr/bin/redis-server")
    assert.strictEqual(exitCodeOf([failed, run(2, { dead: ["ada → desk"] })]), exitCodes.wrong)
  })

  it("prints a table with a row for each run, the result last", () => {
    const lines = formatRuns([run(1), run(2)])
      .trimEnd()
      .split("\n")
    assert.match(lines[1] ?? "", /^ +1 +10 +6 +3 +1 +0 +0 +0 +0 +1\.50$/)
    assert.match(lines[3] ?? "", /^ +all +20 +12 +6 +2 +0 +0 +0 +0 +1\.50$/)
    assert.isTrue(lines.some((line) => /^ +4 +failed: refusal 404$/.test(line)))
    assert.isTrue(lines.some((line) => /^Redis is stopped +2 +2 +1\.50/.test(line)))
    assert.match(lines.at(-1) ?? "", /^fine: /)
  })
})
