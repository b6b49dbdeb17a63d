import { execFileSync } from "node:child_process"
import { availableParallelism } from "node:os"

/** The processor of measured processes, and that of the load generator. */
export const processors = { servers: 0, load: 1 } as const

// Read before pinning: a pinned process sees one processor only.
const several = availableParallelism() > 1

/**
 * Pins a process and its threads to one processor. Returns the reason of a failure: the benchmark then runs with server
 * and load generator on shared processors.
 */
export const pin = (pid: number, processor: number): string | undefined => {
  if (process.platform !== "linux") return "processes are pinned on Linux only"
  if (!several) return "there is only one processor"
  try {
    execFileSync("taskset", ["-a", "-c", "-p", String(processor), String(pid)], { stdio: "pipe" })
    return undefined
  } catch (error) {
    return `taskset failed: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`
  }
}
