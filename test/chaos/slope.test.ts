import { assert, describe, it } from "@effect/vitest"
import { isSteeper, slopeOf } from "./slope.ts"

const line = (slope: number, noise: (index: number) => number) =>
  Array.from({ length: 100 }, (_, index) => [index / 10, 7 + (slope * index) / 10 + noise(index)] as const)

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

  it("is above a bound only where that is more than noise", () => {
    const noisy = line(1, (index) => (index % 2 === 0 ? 5 : -5))
    const clear = line(1, (index) => (index % 2 === 0 ? 0.1 : -0.1))
    assert.deepStrictEqual([isSteeper(slopeOf(noisy), 0.9), isSteeper(slopeOf(clear), 0.9)], [false, true])
    assert.isFalse(isSteeper(slopeOf(clear), 1.1))
    assert.isFalse(
      isSteeper(
        slopeOf([
          [0, 0],
          [1, 100]
        ]),
        1
      )
    )
  })
})
