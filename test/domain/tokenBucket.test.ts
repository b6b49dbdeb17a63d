import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { makeTokenBucket, recordRejection, type RateLimit, takeToken } from "../../src/domain/tokenBucket.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Rates = Schema.Struct({ perSecond: between(1, 100_000), burst: between(1, 1000) })
const Pauses = Schema.Array(between(0, 3000))
const wide = { arbitrary: { runs: 300, size: 300 } }

/** The number of successful attempts with these pauses before each, and the total time. */
const attempt = (rate: RateLimit, pauses: ReadonlyArray<number>) => {
  const bucket = makeTokenBucket(rate, 0)
  let now = 0
  let taken = 0
  for (const pause of pauses) {
    now += pause
    if (takeToken(bucket, rate, now) === 0) taken += 1
  }
  return { taken, now, bucket }
}

describe("token bucket", () => {
  it.prop(
    "never gives more tokens than the burst plus the refill",
    [Rates, Pauses],
    ([rate, pauses]) => {
      const { now, taken } = attempt(rate, pauses)
      assert.isAtMost(taken, rate.burst + (now * rate.perSecond) / 1000 + 1e-6)
    },
    wide
  )

  it.prop(
    "gives exactly the burst after any idle time",
    [Rates, between(0, 1_000_000)],
    ([rate, pause]) => {
      const bucket = makeTokenBucket(rate, 0)
      const given = Array.from({ length: rate.burst + 1 }, () => takeToken(bucket, rate, pause))
      assert.strictEqual(given.filter((wait) => wait === 0).length, rate.burst)
    },
    wide
  )

  it("takes several tokens together, or none of them", () => {
    const rate: RateLimit = { perSecond: 10, burst: 100 }
    const bucket = makeTokenBucket(rate, 0)
    const take = (cost: number) => takeToken(bucket, rate, 0, cost)
    assert.deepStrictEqual([take(60), take(50), take(40), take(0.5)], [0, 1000, 0, 50])
  })

  it("loses no fractions of tokens on rejections", () => {
    const rate: RateLimit = { perSecond: 10, burst: 1 }
    const bucket = makeTokenBucket(rate, 0)
    takeToken(bucket, rate, 0)
    for (let now = 10; now < 100; now += 10) assert.isAbove(takeToken(bucket, rate, now), 0)
    assert.strictEqual(takeToken(bucket, rate, 100), 0)
  })

  it.prop(
    "accepts all requests below the rate",
    [Rates, Pauses],
    ([rate, pauses]) => {
      const shortest = Math.ceil(1000 / rate.perSecond)
      const { taken } = attempt(
        rate,
        pauses.map((pause) => pause + shortest)
      )
      assert.strictEqual(taken, pauses.length)
    },
    wide
  )

  it.prop(
    "refills one token exactly after the reported time",
    [Rates, Pauses],
    ([rate, pauses]) => {
      const { bucket, now } = attempt(rate, pauses)
      const wait = takeToken(bucket, rate, now)
      if (wait === 0) return
      assert.isAbove(takeToken(bucket, rate, now + Math.max(0, Math.floor(wait - 1e-6))), 0)
      assert.strictEqual(takeToken(bucket, rate, now + Math.ceil(wait)), 0)
    },
    wide
  )

  it.prop(
    "ignores a clock that goes back",
    [Rates, between(1, 10_000)],
    ([rate, back]) => {
      const bucket = makeTokenBucket(rate, back)
      for (let token = 0; token < rate.burst; token++) takeToken(bucket, rate, back)
      assert.isAbove(takeToken(bucket, rate, 0), 0)
    },
    wide
  )

  it.prop(
    "refills at its rate after a clock was set back",
    [Rates, between(1, 1_000_000_000)],
    ([rate, back]) => {
      const bucket = makeTokenBucket(rate, back)
      for (let token = 0; token < rate.burst; token++) takeToken(bucket, rate, back)
      const wait = takeToken(bucket, rate, 0)
      assert.isAtMost(wait, 1000 / rate.perSecond)
      assert.strictEqual(takeToken(bucket, rate, Math.ceil(wait)), 0)
    },
    wide
  )

  it("always accepts with an infinite rate", () => {
    const { taken } = attempt({ perSecond: Number.POSITIVE_INFINITY, burst: 1 }, [0, 0, 0, 1, 0])
    assert.strictEqual(taken, 5)
  })
})

describe("recordRejection", () => {
  const rate: RateLimit = { perSecond: 10, burst: 5 }

  it("reports a flood after more rejections than the burst within a refill", () => {
    const bucket = makeTokenBucket(rate, 0)
    const notes = Array.from({ length: 6 }, (_, index) => recordRejection(bucket, rate, 1000 + index))
    assert.deepStrictEqual(notes, ["first", "again", "again", "again", "again", "flood"])
  })

  it("starts a new count when the clock was set back further than a refill", () => {
    const bucket = makeTokenBucket(rate, 0)
    const notes = [1_000_000, 1_000_001, 0, 1].map((now) => recordRejection(bucket, rate, now))
    assert.deepStrictEqual(notes, ["first", "again", "first", "again"])
  })

  it("reports no flood for rejections that are further apart", () => {
    const bucket = makeTokenBucket(rate, 0)
    const notes = Array.from({ length: 20 }, (_, index) => recordRejection(bucket, rate, index * 100))
    assert.notInclude(notes, "flood")
    assert.deepStrictEqual(notes.slice(0, 6), ["first", "again", "again", "again", "again", "first"])
  })
})
