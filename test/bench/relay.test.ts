import { assert, it } from "@effect/vitest"
import { isMet, ratioAtMost } from "../../bench/relay/cases/Case.ts"
import { closedLoop, openLoop } from "../../bench/relay/loops.ts"
import { interleave, type Reading, summarise } from "../../bench/relay/rounds.ts"

/** Rounds of given rates and CPU times, the reference's first. */
const roundsOf = (readings: ReadonlyArray<readonly [Reading<"rate" | "cpu">, Reading<"rate" | "cpu">]>) =>
  readings.map(
    ([sio, a2c]) =>
      new Map([
        ["sio", sio],
        ["a2c", a2c]
      ])
  )

it("takes the median of the rounds' ratios, not the ratio of medians", () => {
  const rounds = roundsOf([
    [
      { rate: 100, cpu: 10 },
      { rate: 50, cpu: 30 }
    ],
    [
      { rate: 110, cpu: 20 },
      { rate: 99, cpu: 20 }
    ],
    [
      { rate: 90, cpu: 30 },
      { rate: 180, cpu: 15 }
    ]
  ])
  const { ratios } = summarise(rounds, "sio", "cpu", "rate")
  assert.deepStrictEqual(ratios, { a2c: 1, sio: 1 })
  assert.strictEqual(summarise(rounds, "sio", "rate", "rate").ratios["a2c"], 0.9)
})

it("excludes rounds in which the reference was unusually slow", () => {
  const usual = [
    { rate: 100, cpu: 10 },
    { rate: 50, cpu: 20 }
  ] as const
  const disturbed = [
    { rate: 60, cpu: 10 },
    { rate: 50, cpu: 90 }
  ] as const
  const { counted, ratios, rounds } = summarise(roundsOf([usual, disturbed, usual]), "sio", "cpu", "rate")
  assert.deepStrictEqual({ counted, ratio: ratios["a2c"], rounds }, { counted: 2, ratio: 2, rounds: 3 })
})

it("keeps a round in which the subject was slow", () => {
  const usual = [
    { rate: 100, cpu: 10 },
    { rate: 50, cpu: 20 }
  ] as const
  const slow = [
    { rate: 100, cpu: 10 },
    { rate: 1, cpu: 90 }
  ] as const
  assert.strictEqual(summarise(roundsOf([usual, slow, usual]), "sio", "cpu", "rate").counted, 3)
})

it("meets a target at its bound and not beyond", () => {
  const row = (ratio: number) => ({
    case: "1k",
    measure: "CPU per call",
    unit: "us",
    summary: { values: {}, ratios: { a2c: ratio }, counted: 1, rounds: 1 },
    target: ratioAtMost(1)
  })
  assert.deepStrictEqual([isMet(row(1), "a2c"), isMet(row(1.01), "a2c")], [true, false])
})

it("misses a target without a measurement", () => {
  const summary = { values: {}, ratios: {}, counted: 0, rounds: 1 }
  assert.isFalse(isMet({ case: "1k", measure: "rate", unit: "", summary, target: ratioAtMost(1) }, "a2c"))
})

it("reads every server in every round", async () => {
  const servers = [{ name: "sio" }, { name: "a2c" }]
  const rounds = await interleave(
    servers,
    2,
    async () => ({ rate: 1 }),
    () => undefined
  )
  assert.deepStrictEqual(
    rounds.map((round) => [...round.keys()].toSorted()),
    [
      ["a2c", "sio"],
      ["a2c", "sio"]
    ]
  )
})

it("limits the calls in flight of a closed loop, and waits for all of them", async () => {
  let underWay = 0
  let most = 0
  const call = (done: () => void) => {
    underWay += 1
    most = Math.max(most, underWay)
    setImmediate(() => {
      underWay -= 1
      done()
    })
  }
  const { calls } = await closedLoop([{ call }, { call }], 3, { calls: 50 }).ended
  assert.deepStrictEqual({ calls, most, underWay }, { calls: 50, most: 6, underWay: 0 })
})

it("starts the calls of an open loop although no reply has arrived", async () => {
  const waiting: Array<() => void> = []
  const call = (done: () => void) => {
    waiting.push(done)
    if (waiting.length === 20) for (const answer of waiting) setImmediate(answer)
  }
  assert.strictEqual((await openLoop([{ call }], 1000, 20)).length, 20)
})
