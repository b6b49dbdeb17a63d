import { assert, describe, it } from "@effect/vitest"
import { slopeOf, verdictOf } from "./slope.ts"

const line = (slope: number, noise: (index: number) => number, count = 100) =>
  Array.from({ length: count }, (_, index) => [index / 10, 7 + (slope * index) / 10 + noise(index)] as const)

const alternating = (size: number) => (index: number) => (index % 2 === 0 ? size : -size)

describe("the slope of some samples", () => {
  it("is that of the line they lie on, without an error", () => {
    const { error, slope } = slopeOf(line(3, () => 0))
    assert.closeTo(slope, 3, 1e-9)
    assert.closeTo(error, 0, 1e-9)
  })

  it("has the error of least squares", () => {
    // By hand: x around 1, y 0 1 0 gives slope 0, rest 2/3, spread 2.
    const { error, slope } = slopeOf([
      [0, 0],
      [1, 1],
      [2, 0]
    ])
    assert.closeTo(slope, 0, 1e-9)
    assert.closeTo(error, Math.sqrt(2 / 3 / 1 / 2), 1e-9)
  })

  it("is less certain where neighbours go astray together", () => {
    const alone = slopeOf(line(0, alternating(1))).error
    const together = slopeOf(line(0, (index) => (index % 20 < 10 ? 1 : -1))).error
    assert.isAbove(together, 2 * alone)
  })

  it("cannot be told from two samples", () => {
    const { error } = slopeOf([
      [0, 0],
      [1, 100]
    ])
    assert.strictEqual(error, Number.POSITIVE_INFINITY)
  })
})

describe("the verdict on a slope", () => {
  const verdict = (points: ReturnType<typeof line>, bound: number) => verdictOf(slopeOf(points), bound)

  it("is above or below a bound only where that is more than noise", () => {
    const clear = line(1, alternating(0.1))
    assert.deepStrictEqual(verdict(clear, 0.9), { _tag: "Above" })
    assert.deepStrictEqual(verdict(clear, 1.1), { _tag: "Below" })
    const noisy = line(1, alternating(5))
    assert.strictEqual(verdict(noisy, 0.9)._tag, "TooShort")
    assert.strictEqual(verdict(noisy, 1.1)._tag, "TooShort")
  })

  it("is none where the error alone is ten times the bound", () => {
    // 11622 ± 10385 KB an hour against 1024 was once called flat.
    const { _tag } = verdictOf({ slope: 11_622, error: 10_385 }, 1024)
    assert.strictEqual(_tag, "TooShort")
  })

  it("is there for a steep slope however large the error is beside the bound", () => {
    assert.strictEqual(verdictOf({ slope: 1_000_000, error: 10_385 }, 1024)._tag, "Above")
  })

  it("comes with samples over as long as it says, and not much longer", () => {
    const noise = alternating(3)
    const short = verdict(line(0, noise, 30), 1)
    if (short._tag !== "TooShort") return assert.fail(short._tag)
    const enough = (times: number) => verdict(line(0, noise, Math.ceil(30 * times)), 1)._tag
    assert.strictEqual(enough(short.times * 1.05), "Below")
    assert.strictEqual(enough(short.times / 2), "TooShort")
  })

  it("is not that a slope is steep when what settles may be all of it", () => {
    const steep = { slope: 1500, error: 10 }
    assert.strictEqual(verdictOf(steep, 1000)._tag, "Above")
    assert.deepStrictEqual(verdictOf(steep, 1000, 600), { _tag: "TooShort", times: 3 })
    assert.strictEqual(verdictOf({ slope: 500, error: 10 }, 1000, 600)._tag, "Below")
  })

  it("asks for no length that does not end", () => {
    const { times } = { times: 0, ...verdictOf({ slope: 1, error: 1 }, 1) }
    assert.isBelow(times, 4)
    assert.deepStrictEqual(verdictOf({ slope: 0, error: Number.POSITIVE_INFINITY }, 1), {
      _tag: "TooShort",
      times: Number.POSITIVE_INFINITY
    })
  })
})
