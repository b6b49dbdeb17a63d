import { assert, describe, it } from "@effect/vitest"
import { watchLateness } from "./lateness.ts"

/** Milliseconds of a processor that this thread has used. */
const used = () => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}

/** How exactly times can be told, in milliseconds. */
const exact = 50

const millis = 300

describe("the lateness of a machine", () => {
  it("is the time without a processor, and not that of work", () => {
    const begun = { at: performance.now(), used: used() }
    const lateness = watchLateness()
    while (used() - begun.used < millis);
    const others = performance.now() - begun.at - (used() - begun.used)
    assert.isBelow(lateness.worst(), others + exact)
    // Whoever waits like this has work to do, and no processor.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis)
    assert.isAbove(lateness.worst(), millis - exact)
    lateness.stop()
  })
})
