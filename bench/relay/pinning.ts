import { execFileSync } from "node:child_process"
import { availableParallelism } from "node:os"

/** The processor of everything that is measured, and the one of whoever makes the load. */
export const processors = { servers: 0, load: 1 } as const

// Looked at before anything is pinned: a pinned process sees one processor only.
const several = availableParallelism() > 1

/**
 * Keeps a process and all its threads on one processor. Gives the reason when that cannot be done: the benchmark then
 * still runs, but server and load disturb each other.
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
