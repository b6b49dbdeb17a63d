import { assert, describe, it } from "@effect/vitest"
import { Ledger, type Tally } from "./Ledger.ts"

const pair = { agent: "ada", computer: "desk" }
const callTimeout = 60_000
const ever = () => 0
const answered = (text: string) => ({ _tag: "Answered", text }) as const

/** The errors of a tally. */
const wrongs = ({ broken, executedTwice, lost, misplaced, twice, wrong }: Tally) => ({
  ...(lost.length > 0 && { lost }),
  ...(broken.length > 0 && { broken }),
  ...(wrong.length > 0 && { wrong }),
  ...(twice.length > 0 && { twice }),
  ...(executedTwice.length > 0 && { executedTwice }),
  ...(misplaced.length > 0 && { misplaced })
})

/** A ledger with one successful call. */
const withGood = (time = callTimeout) => {
  const ledger = new Ledger(time, ever)
  ledger.started("ada-1-1", pair, "ada-1")
  ledger.ended("ada-1-1", answered("ada-1-1"))
  return ledger
}
const good = { id: "ada-1-1", computer: "desk" }

describe("Ledger", () => {
  it("accepts calls that succeed, fail, or lose their Agent", () => {
    const ledger = withGood()
    ledger.started("ada-1-2", pair, "ada-1")
    ledger.ended("ada-1-2", { _tag: "Failed", error: "refusal 404" })
    ledger.started("ada-1-3", pair, "ada-1")
    ledger.died("ada-1")
    // The Agent died before it could report the start of this call.
    const last = { id: "ada-1-4", computer: "desk" }
    const tally = ledger.tally([good, last])
    assert.deepStrictEqual(wrongs(tally), {})
    assert.deepStrictEqual(
      [tally.started, tally.answered, tally.failed, tally.abandoned],
      [3, 1, { "refusal 404": 1 }, 1]
    )
  })

  const rows: ReadonlyArray<readonly [string, () => object, object]> = [
    [
      "has not ended",
      () => {
        const ledger = withGood()
        ledger.started("ada-1-2", pair, "ada-1")
        return wrongs(ledger.tally([good]))
      },
      { lost: ["ada-1-2"] }
    ],
    ["ended too late", () => wrongs(withGood(-1).tally([good])), { lost: ["ada-1-1"] }],
    [
      "has the result of another call",
      () => {
        const ledger = withGood()
        ledger.started("ada-1-2", pair, "ada-1")
        ledger.ended("ada-1-2", answered("ada-1-1"))
        return wrongs(ledger.tally([good, { id: "ada-1-2", computer: "desk" }]))
      },
      { wrong: ["ada-1-2"] }
    ],
    ["has a result without an execution", () => wrongs(withGood().tally([])), { wrong: ["ada-1-1"] }],
    [
      "ended twice",
      () => {
        const ledger = withGood()
        ledger.ended("ada-1-1", answered("ada-1-1"))
        return wrongs(ledger.tally([good]))
      },
      { twice: ["ada-1-1"] }
    ],
    ["was executed twice", () => wrongs(withGood().tally([good, good])), { executedTwice: ["ada-1-1"] }],
    [
      "was executed by another Computer",
      () => wrongs(withGood().tally([good, { id: "bob-1-1", computer: "desk" }])),
      { misplaced: ["bob-1-1 at desk"] }
    ],
    [
      "failed without a protocol error",
      () => {
        const ledger = withGood()
        ledger.started("ada-1-2", pair, "ada-1")
        ledger.ended("ada-1-2", { _tag: "Broken", cause: "a bug" })
        return wrongs(ledger.tally([good]))
      },
      { broken: ["ada-1-2: a bug"] }
    ]
  ]
  for (const [what, run, found] of rows) {
    it(`reports a call that ${what}`, () => assert.deepStrictEqual(run(), found))
  }

  it("extends the timeout of a call by the stall of its Agent", () => {
    let paused = 0
    const ledger = new Ledger(-1, () => paused)
    ledger.started("ada-1-1", pair, "ada-1")
    paused = callTimeout
    ledger.ended("ada-1-1", answered("ada-1-1"))
    assert.deepStrictEqual(wrongs(ledger.tally([good])), {})
  })

  it("returns when a pair works again: at the first call that starts afterwards", () => {
    const ledger = new Ledger(callTimeout, ever)
    ledger.started("ada-1-1", pair, "ada-1")
    const since = performance.now()
    ledger.ended("ada-1-1", answered("ada-1-1"))
    assert.isUndefined(ledger.answeredSince(pair, since))
    ledger.started("ada-1-2", pair, "ada-1")
    ledger.ended("ada-1-2", answered("ada-1-2"))
    assert.isAtLeast(ledger.answeredSince(pair, since) ?? 0, since)
    assert.isUndefined(ledger.answeredSince({ ...pair, computer: "shelf" }, since))
  })

  it("counts the outcomes of the calls of a pair since a moment", () => {
    const ledger = withGood()
    const since = performance.now()
    const fail = (id: string, error: string) => {
      ledger.started(id, pair, "ada-1")
      ledger.ended(id, { _tag: "Failed", error })
    }
    fail("ada-1-2", "refusal 404")
    fail("ada-1-3", "refusal 404")
    fail("ada-1-4", "Disconnected")
    ledger.started("ada-1-5", pair, "ada-1")
    ledger.started("ada-1-6", { ...pair, computer: "shelf" }, "ada-1")
    assert.deepStrictEqual(ledger.since(pair, since), { "refusal 404": 2, Disconnected: 1, "under way": 1 })
  })
})
