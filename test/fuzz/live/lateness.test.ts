import { assert, describe, it } from "@effect/vitest"
import { watchLateness } from "./lateness.ts"

/** CPU time of this thread in milliseconds. */
const used = () => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}

/** Tolerance of time measurements in milliseconds. */
const exact = 50

const millis = 300

describe("lateness of a machine", () => {
  it("measures the time without a processor, not the work", () => {
    const begun = { at: performance.now(), used: used() }
    const lateness = watchLateness()
    while (used() - begun.used < millis);
    const others = performance.now() - begun.at - (used() - begun.used)
    assert.isBelow(lateness.worst(), others + exact)
    // A blocked thread with pending work looks like a thread without a processor.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis)
    assert.isAbove(lateness.worst(), millis - exact)
    lateness.stop()
  })
})
