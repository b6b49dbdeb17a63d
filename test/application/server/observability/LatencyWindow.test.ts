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
    assert.deepStrictEqual(recent.snapshot(start + 61_000), { perSecond: 0 })
  })

  it("accepts durations of any size", () => {
    const recent = makeLatencyWindow(start)
    for (const millis of [0, -1, 1e-9, 1e12]) recent.record(start, millis)
    const { latency } = recent.snapshot(start)
    assert.isBelow(latency?.p50 ?? 1, 0.01)
    assert.isAbove(latency?.p99 ?? 0, 1_000_000)
  })

  it("forgets the calls of a slot that is used again after a minute", () => {
    const recent = makeLatencyWindow(start)
    for (let count = 0; count < 10; count += 1) recent.record(start, 1)
    recent.record(start + 60_000, 5000)
    const { latency, perSecond } = recent.snapshot(start + 60_000)
    assert.approximately(latency?.p50 ?? 0, 5000, 500)
    assert.approximately(perSecond, 0.1, 0.001)
  })

  it("omits calls that ended after the time of the snapshot", () => {
    const recent = makeLatencyWindow(start)
    recent.record(start + 10_000, 1)
    assert.deepStrictEqual(recent.snapshot(start + 4000), { perSecond: 0 })
  })

  it("averages at least one second", () => {
    const recent = makeLatencyWindow(start)
    recent.record(start, 1)
    assert.strictEqual(recent.snapshot(start + 1).perSecond, 1)
  })

  it("reports the longest call in the last percentile of two", () => {
    const recent = makeLatencyWindow(start)
    recent.record(start, 1)
    recent.record(start, 100)
    const { latency } = recent.snapshot(start)
    assert.approximately(latency?.p50 ?? 0, 1, 0.1)
    assert.approximately(latency?.p90 ?? 0, 100, 10)
  })
})
