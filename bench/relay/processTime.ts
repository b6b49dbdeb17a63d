import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"

/** CPU time of a process by the clock of the kernel's ticks, in microseconds. */
const tickTime = (pid: number): number => {
  const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }))
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? []
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / ticksPerSecond
}

/** CPU time of one thread in microseconds; `undefined` when it has ended. */
const threadTime = (pid: number, thread: string): number | undefined => {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]) / 1000
  } catch {
    return undefined
  }
}

/**
 * Makes a reader of the CPU time of a process, in microseconds; Linux only. An ended thread keeps its last time. Kernels
 * without `schedstat` count in ticks of some milliseconds.
 */
export const cpuTimeReader = (pid: number): (() => number) => {
  const threads = new Map<string, number>()
  return () => {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const time = threadTime(pid, thread)
      if (time !== undefined) threads.set(thread, time)
    }
    return threads.size === 0 ? tickTime(pid) : [...threads.values()].reduce((sum, time) => sum + time, 0)
  }
}
