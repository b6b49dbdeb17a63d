import { assert, describe, it } from "@effect/vitest"
import { makeLatencyWindow } from "../../../../src/application/server/observability/LatencyWindow.ts"

/** Some time, in milliseconds of the epoch, at which five seconds begin. */
const start = 1_800_000_000_000

describe("the last minute", () => {
  it("tells latencies to a tenth", () => {
    const recent = makeLatencyWindow(start)
    for (let millis = 1; millis <= 1000; millis++) recent.record(start + millis, millis)
    const { latency } = recent.snapshot(start + 2000)
    assert.approximately(latency?.p50 ?? 0, 500, 50)
    assert.approximately(latency?.p90 ?? 0, 900, 90)
    assert.approximately(latency?.p99 ?? 0, 990, 99)
  })

  it("counts a second's calls on average over the last seconds", () => {
    const recent = makeLatencyWindow(start)
    for (let at = 0; at < 20_000; at += 10) recent.record(start + at, 1)
    assert.approximately(recent.snapshot(start + 20_000).perSecond, 100, 1)
  })

  it("does not take the time before the start for a time without calls", () => {
    const recent = makeLatencyWindow(start + 4000)
    for (let at = 4000; at < 6000; at += 100) recent.record(start + at, 1)
    assert.approximately(recent.snapshot(start + 6000).perSecond, 10, 0.1)
  })

  it("forgets what is older", () => {
    const recent = makeLatencyWindow(start)
    recent.record(start, 5000)
    assert.isDefined(recent.snapshot(start + 59_000).latency)
    assert.deepStrictEqual(recent.snapshot(start + 61_000), { perSecond: 0, latency: undefined })
  })

  it("takes durations of any size", () => {
    const recent = makeLatencyWindow(start)
    for (const millis of [0, -1, 1e-9, 1e12]) recent.record(start, millis)
    const { latency } = recent.snapshot(start)
    assert.isBelow(latency?.p50 ?? 1, 0.01)
    assert.isAbove(latency?.p99 ?? 0, 1_000_000)
  })
})
