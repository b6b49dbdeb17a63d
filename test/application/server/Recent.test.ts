import { assert, describe, it } from "@effect/vitest"
import { makeRecent } from "../../../src/application/server/Recent.ts"

/** Some time, in milliseconds of the epoch, at which five seconds begin. */
const start = 1_800_000_000_000

describe("the last minute", () => {
  it("tells latencies to a tenth", () => {
    const recent = makeRecent(start)
    for (let millis = 1; millis <= 1000; millis++) recent.note(start + millis, millis)
    const { latency } = recent.look(start + 2000)
    assert.approximately(latency?.p50 ?? 0, 500, 50)
    assert.approximately(latency?.p90 ?? 0, 900, 90)
    assert.approximately(latency?.p99 ?? 0, 990, 99)
  })

  it("counts a second's calls on average over the last seconds", () => {
    const recent = makeRecent(start)
    for (let at = 0; at < 20_000; at += 10) recent.note(start + at, 1)
    assert.approximately(recent.look(start + 20_000).perSecond, 100, 1)
  })

  it("does not take the time before the start for a time without calls", () => {
    const recent = makeRecent(start + 4000)
    for (let at = 4000; at < 6000; at += 100) recent.note(start + at, 1)
    assert.approximately(recent.look(start + 6000).perSecond, 10, 0.1)
  })

  it("forgets what is older", () => {
    const recent = makeRecent(start)
    recent.note(start, 5000)
    assert.isDefined(recent.look(start + 59_000).latency)
    assert.deepStrictEqual(recent.look(start + 61_000), { perSecond: 0, latency: undefined })
  })

  it("takes durations of any size", () => {
    const recent = makeRecent(start)
    for (const millis of [0, -1, 1e-9, 1e12]) recent.note(start, millis)
    const { latency } = recent.look(start)
    assert.isBelow(latency?.p50 ?? 1, 0.01)
    assert.isAbove(latency?.p99 ?? 0, 1_000_000)
  })
})
