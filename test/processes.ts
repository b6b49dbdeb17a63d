import { execFileSync } from "node:child_process"
import { Effect, Schedule } from "effect"

/** The descendants of a process. */
export const descendants = (root: number): ReadonlyArray<number> => {
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((row) => row.trim().split(/\s+/).map(Number))
  const below = (pid: number): ReadonlyArray<number> =>
    rows.flatMap(([child = 0, above]) => (above === pid ? [child, ...below(child)] : []))
  return below(root)
}

/** True while a process runs. A zombie has ended, but its parent has not read the status. */
export const alive = (pid: number): boolean => {
  try {
    const state = execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" })
    return !state.trim().startsWith("Z")
  } catch {
    return false
  }
}

/** Waits until all these processes have ended. */
export const gone = (pids: ReadonlyArray<number>): Effect.Effect<void, string> =>
  Effect.retry(
    Effect.suspend(() => (pids.some(alive) ? Effect.fail("still alive") : Effect.void)),
    Schedule.spaced("20 millis").pipe(Schedule.upTo({ duration: "5 seconds" }))
  )

/** Waits until a process has at least this many descendants. */
export const familyOf = (pid: number, size: number): Effect.Effect<ReadonlyArray<number>> =>
  Effect.repeat(
    Effect.sync(() => descendants(pid)),
    { until: (family) => family.length >= size, schedule: Schedule.spaced("20 millis") }
  )
