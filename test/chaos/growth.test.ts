import { assert, describe, it } from "@effect/vitest"
import { growthOf, judge } from "./growth.ts"
import type { Sample } from "./sampling.ts"

const second = 1000
const kibibyte = 1024

/** Samples every six seconds of a process whose resources follow these functions of hours, in KB. */
const samplesOf = (minutes: number, live: (hours: number, index: number) => number) =>
  Array.from({ length: minutes * 10 }, (_, index): Sample => {
    const at = (index + 1) * 6 * second
    const bytes = live(at / (3600 * second), index) * kibibyte
    return {
      at,
      live: bytes,
      code: 7000,
      rss: 3 * bytes,
      handles: 12,
      files: 20 + index,
      busy: 30,
      rested: true
    }
  })

const jitter = (size: number) => (_hours: number, index: number) => 46_000 + (index % 2) * size

const verdictOn = (minutes: number, live: (hours: number, index: number) => number) =>
  judge(samplesOf(minutes, live), 1024, minutes)

describe("long run verdict", () => {
  it("reports flat memory when nothing is retained", () => {
    const { verdict, words } = verdictOn(30, jitter(100))
    assert.strictEqual(verdict, "Below")
    assert.match(words, /^flat: /)
  })

  it("ignores the warm-up", () => {
    const warming = (hours: number, index: number) => jitter(10)(hours, index) - Math.max(0, 0.1 - hours) * 1e5
    assert.strictEqual(verdictOn(30, warming).verdict, "Below")
  })

  it("reports no growth while memory settles, and flat memory afterwards", () => {
    const settling = (hours: number) => 46_000 + 110 * Math.log(hours)
    assert.strictEqual(verdictOn(6, settling).verdict, "TooShort")
    assert.strictEqual(verdictOn(30, settling).verdict, "Below")
  })

  it("reports growth by retained calls that become rarer", () => {
    const slowing = (hours: number) => 46_000 + 100_000 * Math.sqrt(hours)
    assert.strictEqual(verdictOn(6, slowing).verdict, "Above")
  })

  it("ignores samples with missing members", () => {
    const samples = samplesOf(30, jitter(10)).map((one, index) =>
      index % 7 === 0 ? { ...one, live: one.live + index * 1e6, rested: false } : one
    )
    assert.strictEqual(judge(samples, 1024, 30).verdict, "Below")
  })

  it("reports growth when each of a few calls a second retains a kilobyte", () => {
    const { verdict, words } = verdictOn(10, (hours, index) => jitter(100)(hours, index) + hours * 3600 * 2)
    assert.strictEqual(verdict, "Above")
    assert.match(words, /^GROWS: /)
  })

  it("reports too much noise, and the required length", () => {
    const { verdict, words } = verdictOn(4, jitter(3000))
    assert.strictEqual(verdict, "TooShort")
    const needed = Number(/run at least (\d+) minutes$/.exec(words)?.[1])
    assert.isAbove(needed, 10)
    assert.strictEqual(verdictOn(Math.ceil(needed * 1.2), jitter(3000)).verdict, "Below")
  })

  it("reports no result when everything was warm-up", () => {
    assert.match(verdictOn(1, jitter(0)).words, /run at least 30 minutes$/)
  })

  it("computes the means of the first and last quarter", () => {
    const rows = growthOf(samplesOf(40, jitter(0)))
    const files = rows.find(({ what }) => what === "open files")
    // 300 samples count, from the hundredth on. The first quarter is 75 of them around 99 + 37, and 20 were open
    // before.
    assert.closeTo(files?.first ?? 0, 20 + 99 + 37, 1e-9)
    assert.closeTo(files?.last ?? 0, 20 + 399 - 37, 1e-9)
    assert.closeTo(files?.slope ?? 0, 600, 1e-6)
  })
})
