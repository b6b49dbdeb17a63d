import { assert, describe, it } from "@effect/vitest"
import { makeLatencyWindow } from "../../../../src/application/server/observability/LatencyWindow.ts"

/** The start of a slot, in milliseconds of the epoch. */
const start = 1_800_000_000_000

describe("a latency window", () => {
  it("reports percentiles with an error below a tenth", () => {
    const recent = makeLatencyWindow(start)
    for (let millis = 1; millis <= 1000; millis++) recent.record(start + millis, millis)
    const { latency } = recent.snapshot(start + 2000)
    assert.approximately(latency?.p50 ?? 0, 500, 50)
    assert.approximately(latency?.p90 ?? 0, 900, 90)
    assert.approximately(latency?.p99 ?? 0, 990, 99)
  })

  it("averages the call rate over the last seconds", () => {
    const recent = makeLatencyWindow(start)
    for (let at = 0; at < 20_000; at += 10) recent.record(start + at, 1)
    assert.approximately(recent.snapshot(start + 20_000).perSecond, 100, 1)
  })

  it("excludes the time before the start from the rate", () => {
    const recent = makeLatencyWindow(start + 4000)
    for (let at = 4000; at < 6000; at += 100) recent.record(start + at, 1)
    assert.approximately(recent.snapshot(start + 6000).perSecond, 10, 0.1)
  })

  it("drops calls older than a minute", () => {
    const recent = makeLatencyWindow(start)
    recent.record(start, 5000)
    assert.isDefined(recent.snapshot(start + 59_000).latency)
    assert.deepStrictEqual(recent.snapshot(start + 61_000), { perSecond: 0, latency: undefined })
  })

  it("accepts durations of any size", () => {
    const recent = makeLatencyWindow(start)
    for (const millis of [0, -1, 1e-9, 1e12]) recent.record(start, millis)
    const { latency } = recent.snapshot(start)
    assert.isBelow(latency?.p50 ?? 1, 0.01)
    assert.isAbove(latency?.p99 ?? 0, 1_000_000)
  })
})
