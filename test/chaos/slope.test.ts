import { assert, describe, it } from "@effect/vitest"
import { slopeOf, verdictOf } from "./slope.ts"

const line = (slope: number, noise: (index: number) => number, count = 100) =>
  Array.from({ length: count }, (_, index) => [index / 10, 7 + (slope * index) / 10 + noise(index)] as const)

const alternating = (size: number) => (index: number) => (index % 2 === 0 ? size : -size)

describe("slope", () => {
  it("fits points on a line without an error", () => {
    const { error, slope } = slopeOf(line(3, () => 0))
    assert.closeTo(slope, 3, 1e-9)
    assert.closeTo(error, 0, 1e-9)
  })

  it("has the standard error of least squares", () => {
    // By hand: x around 1 and y 0 1 0 give slope 0, residual 2/3 and spread 2.
    const { error, slope } = slopeOf([
      [0, 0],
      [1, 1],
      [2, 0]
    ])
    assert.closeTo(slope, 0, 1e-9)
    assert.closeTo(error, Math.sqrt(2 / 3 / 1 / 2), 1e-9)
  })

  it("has a larger error for correlated neighbours", () => {
    const alone = slopeOf(line(0, alternating(1))).error
    const together = slopeOf(line(0, (index) => (index % 20 < 10 ? 1 : -1))).error
    assert.isAbove(together, 2 * alone)
  })

  it("has an infinite error for two samples", () => {
    const { error } = slopeOf([
      [0, 0],
      [1, 100]
    ])
    assert.strictEqual(error, Number.POSITIVE_INFINITY)
  })
})

describe("verdict on a slope", () => {
  const verdict = (points: ReturnType<typeof line>, bound: number) => verdictOf(slopeOf(points), bound)

  it("requires a distance from the bound beyond the noise", () => {
    const clear = line(1, alternating(0.1))
    assert.deepStrictEqual(verdict(clear, 0.9), { _tag: "Above" })
    assert.deepStrictEqual(verdict(clear, 1.1), { _tag: "Below" })
    const noisy = line(1, alternating(5))
    assert.strictEqual(verdict(noisy, 0.9)._tag, "TooShort")
    assert.strictEqual(verdict(noisy, 1.1)._tag, "TooShort")
  })

  it("is undecided when the error is ten times the bound", () => {
    // 11622 ± 10385 KB an hour against 1024 was once reported as flat.
    const { _tag } = verdictOf({ slope: 11_622, error: 10_385 }, 1024)
    assert.strictEqual(_tag, "TooShort")
  })

  it("reports a steep slope in spite of a large error", () => {
    assert.strictEqual(verdictOf({ slope: 1_000_000, error: 10_385 }, 1024)._tag, "Above")
  })

  it("returns a sufficient and not excessive length", () => {
    const noise = alternating(3)
    const short = verdict(line(0, noise, 30), 1)
    if (short._tag !== "TooShort") return assert.fail(short._tag)
    const enough = (times: number) => verdict(line(0, noise, Math.ceil(30 * times)), 1)._tag
    assert.strictEqual(enough(short.times * 1.05), "Below")
    assert.strictEqual(enough(short.times / 2), "TooShort")
  })

  it("tolerates a slope that may settle", () => {
    const steep = { slope: 1500, error: 10 }
    assert.strictEqual(verdictOf(steep, 1000)._tag, "Above")
    assert.deepStrictEqual(verdictOf(steep, 1000, 600), { _tag: "TooShort", times: 3 })
    assert.strictEqual(verdictOf({ slope: 500, error: 10 }, 1000, 600)._tag, "Below")
  })

  it("always returns a finite length", () => {
    const { times } = { times: 0, ...verdictOf({ slope: 1, error: 1 }, 1) }
    assert.isBelow(times, 4)
    assert.deepStrictEqual(verdictOf({ slope: 0, error: Number.POSITIVE_INFINITY }, 1), {
      _tag: "TooShort",
      times: Number.POSITIVE_INFINITY
    })
  })
})
