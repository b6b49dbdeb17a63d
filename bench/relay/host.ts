import { writeFileSync } from "node:fs"
import { Session } from "node:inspector/promises"
import { releaseUnusedMemory } from "../../src/adapters/process/gcTuning.ts"
import type { Order, Report } from "./orders.ts"

const notify = (report: Report) => void process.send?.(report)

const profiler = new Session()

const collect = () => {
  if (globalThis.gc === undefined) throw new Error("a measured server needs --expose-gc")
  // Memory that the first collection finalises is free after the second, which also gives back what V8 keeps unused.
  globalThis.gc()
  releaseUnusedMemory()
}

const obey = async (order: Order): Promise<void> => {
  switch (order._tag) {
    case "Cpu": {
      const { system, user } = process.cpuUsage()
      return notify({ _tag: "Cpu", micros: user + system })
    }
    case "Memory": {
      collect()
      const { heapUsed, rss } = process.memoryUsage()
      return notify({ _tag: "Memory", rss, heap: heapUsed })
    }
    case "StartProfile":
      profiler.connect()
      await profiler.post("Profiler.enable")
      await profiler.post("Profiler.start")
      return notify({ _tag: "Profiling" })
    case "StopProfile": {
      const { profile } = await profiler.post("Profiler.stop")
      profiler.disconnect()
      writeFileSync(order.file, JSON.stringify(profile))
      return notify({ _tag: "Profiled" })
    }
    case "Stop":
      return process.exit(0)
  }
}

/** Reports the address of a measured server, then follows the orders of the benchmark. */
export const obeyOrders = (address: string): void => {
  process.on("message", (order: Order) => void obey(order))
  notify({ _tag: "Listening", address })
}
