import type { ChildProcess } from "node:child_process"
import { createInterface } from "node:readline"

/** The first line of a process that matches. After `limit` milliseconds the process is killed. */
export const lineOf = async (child: ChildProcess, pattern: RegExp, limit: number): Promise<string> => {
  const late = setTimeout(() => child.kill("SIGKILL"), limit)
  try {
    for await (const line of createInterface({ input: child.stdout ?? process.stdin }))
      if (pattern.test(line)) return line
  } finally {
    clearTimeout(late)
  }
  throw new Error(`a process ended before it printed ${pattern.source}`)
}
