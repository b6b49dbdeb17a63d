import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { Effect, Schedule } from "effect"

/** A process of the system. */
interface ProcessRow {
  readonly pid: number
  readonly parent: number
  /** The id of its process group. */
  readonly group: number
  /** It has ended, but its parent has not read the status. */
  readonly isZombie: boolean
  readonly command: ReadonlyArray<string>
}

/** Reads `/proc`: small Linux systems lack `ps`. */
const linuxProcesses = (): ReadonlyArray<ProcessRow> =>
  readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const status = readFileSync(`/proc/${name}/stat`, "utf8")
      // The name of the program is in parentheses, and may contain any character.
      const [state, parent, group] = status.slice(status.lastIndexOf(")") + 2).split(" ")
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0")
      return [{ pid: Number(name), parent: Number(parent), group: Number(group), isZombie: state === "Z", command }]
    } catch {
      // It has ended in between.
      return []
    }
  })

const otherProcesses = (): ReadonlyArray<ProcessRow> =>
  execFileSync("ps", ["-A", "-o", "pid=,ppid=,pgid=,stat=,args="], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((row) => {
      const [pid, parent, group, state = "", ...command] = row.trim().split(/\s+/)
      return {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        isZombie: state.startsWith("Z"),
        command
      }
    })

/** All processes of the system. */
export const processes = process.platform === "linux" ? linuxProcesses : otherProcesses

/** The descendants of a process. */
export const descendants = (root: number): ReadonlyArray<number> => {
  const rows = processes()
  const below = (above: number): ReadonlyArray<number> =>
    rows.flatMap(({ parent, pid }) => (parent === above ? [pid, ...below(pid)] : []))
  return below(root)
}

/** Sends a signal to a process that may have ended. */
export const kill = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

/** True while a process runs. */
export const alive = (pid: number): boolean => processes().some((row) => row.pid === pid && !row.isZombie)

/** Waits until all these processes have ended. */
export const gone = (pids: ReadonlyArray<number>): Effect.Effect<void, string> =>
  Effect.retry(
    Effect.suspend(() => (pids.some(alive) ? Effect.fail("still alive") : Effect.void)),
    Schedule.spaced("20 millis").pipe(Schedule.upTo({ duration: "20 seconds" }))
  )

/** Waits until a process has at least this many descendants. */
export const familyOf = (pid: number, size: number): Effect.Effect<ReadonlyArray<number>> =>
  Effect.repeat(
    Effect.sync(() => descendants(pid)),
    { until: (family) => family.length >= size, schedule: Schedule.spaced("20 millis") }
  )
