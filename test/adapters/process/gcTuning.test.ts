import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"

const module = new URL("../../../src/adapters/process/gcTuning.ts", import.meta.url).href

/** Relays 256 messages of 1 MiB in a child process and reports the cost. */
const relay = (first: string): { readonly minor: number; readonly major: number; readonly most: number } => {
  const program = `
    import { constants, PerformanceObserver } from "node:perf_hooks"
    import { setImmediate } from "node:timers/promises"
    import { countRelayedBytes, tuneGcForRelay } from "${module}"
    const size = 1024 * 1024
    ${first}
    // Excludes garbage of the module loading.
    gc()
    await setImmediate()
    const count = { minor: 0, major: 0, most: 0 }
    new PerformanceObserver((list) => {
      for (const { detail } of list.getEntries()) {
        if (detail.kind === constants.NODE_PERFORMANCE_GC_MINOR) count.minor += 1
        if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) count.major += 1
      }
    }).observe({ entryTypes: ["gc"] })
    for (let sent = 0; sent < 256; sent++) {
      Buffer.alloc(size)
      countRelayedBytes(size)
      count.most = Math.max(count.most, process.memoryUsage().arrayBuffers / size)
      await setImmediate()
    }
    await setImmediate()
    console.log(JSON.stringify(count))
  `
  return JSON.parse(
    execFileSync(process.execPath, ["--expose-gc", "--input-type=module", "--eval", program], {
      encoding: "utf8"
    })
  )
}

describe("releaseUnusedMemory", () => {
  it("frees the garbage of the start, and the space for new objects", () => {
    const program = `
      import { releaseUnusedMemory } from "${module}"
      const start = Array.from({ length: 400_000 }, (_, index) => ({ index }))
      const before = process.memoryUsage().heapTotal
      start.length = 0
      releaseUnusedMemory()
      console.log(before - process.memoryUsage().heapTotal)
    `
    const released = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" })
    assert.isAbove(Number(released), 15_000_000)
  })
})

describe("collectAfterFrees", () => {
  /**
   * Frees 64 old buffers of 1 MiB in a child process beside a small load, as a session that leaves this queue; gives the MiB
   * of buffers before and after.
   */
  const freeBuffers = (queuedBytes: number, seconds: number, otherSessions = 0): ReadonlyArray<number> => {
    const program = `
      import { setTimeout } from "node:timers/promises"
      import { Effect } from "effect"
      import { collectAfterFrees, countFreedMember, countSession, tuneGcForRelay } from "${module}"
      const buffers = () => process.memoryUsage().arrayBuffers / 1024 / 1024
      tuneGcForRelay()
      Effect.runFork(collectAfterFrees)
      const queue = Array.from({ length: 64 }, () => Buffer.alloc(1024 * 1024))
      gc()
      gc()
      queue.length = 0
      for (let count = 0; count <= ${otherSessions}; count++) countSession()
      countFreedMember(${queuedBytes})
      const counts = [buffers()]
      for (const end = Date.now() + ${seconds} * 1000; Date.now() < end && buffers() > 32; await setTimeout(20)) {
        Buffer.from("a message of an ordinary call".repeat(100))
      }
      console.log(JSON.stringify([...counts, buffers()]))
      process.exit()
    `
    const flags = ["--expose-gc", "--input-type=module", "--eval", program]
    return JSON.parse(execFileSync(process.execPath, flags, { encoding: "utf8" }))
  }

  it("collects the queues of members that have left, while messages go on", () => {
    const [before = 0, after = 0] = freeBuffers(64 * 1024 * 1024, 30)
    assert.isAbove(before, 60)
    assert.isBelow(after, 32)
  })

  it("collects smaller queues while sessions remain", () => {
    const [, after = 0] = freeBuffers(8 * 1024 * 1024, 30, 1)
    assert.isBelow(after, 32)
  })

  it("leaves smaller queues to V8 when no session remains", () => {
    const [, after = 0] = freeBuffers(8 * 1024 * 1024, 6)
    assert.isAbove(after, 60)
  })

  it("leaves the garbage of ordinary calls to V8", () => {
    const [, after = 0] = freeBuffers(1024, 6, 1)
    assert.isAbove(after, 60)
  })
})

describe("tuneGcForRelay", () => {
  it("collects messages in the young generation only", () => {
    const { major, minor, most } = relay("tuneGcForRelay()")
    assert.isAtLeast(minor, 15)
    assert.strictEqual(major, 0)
    assert.isAtMost(most, 48)
  })

  it("affects no process that does not call it", () => {
    assert.isBelow(relay("").minor, 15)
  })
})

describe("adaptToLoads", () => {
  /** The flags of V8 that a process changes when it has run for some seconds. */
  const flagsAfter = (seconds: number): string => {
    const program = `
      import { syncBuiltinESMExports } from "node:module"
      import v8 from "node:v8"
      const flags = []
      v8.setFlagsFromString = (flag) => flags.push(flag)
      syncBuiltinESMExports()
      process.uptime = () => ${seconds}
      const { Effect } = await import("effect")
      const { adaptToLoads, tuneGcForRelay } = await import("${module}")
      tuneGcForRelay()
      Effect.runFork(adaptToLoads)
      console.log(flags.join())
      process.exit()
    `
    return execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" })
  }

  it("switches the memory reducer of V8 off", () => {
    assert.include(flagsAfter(1), "memory-reducer")
  })

  it("leaves a reducer that may be at work: V8 would end the process", () => {
    assert.notInclude(flagsAfter(8), "memory-reducer")
  })
})
