import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { guardChild } from "../../test/childGuard.ts"
import { timeout } from "./limits.ts"
import type { Order, Report } from "./orders.ts"
import { pin, processors } from "./pinning.ts"

type Notified<Tag extends Report["_tag"]> = Extract<Report, { readonly _tag: Tag }>

/** A measured server in a separate process. */
export interface Child {
  /** Its address, like `127.0.0.1:1234`. */
  readonly address: string
  readonly pid: number
  /** Its CPU time in microseconds. */
  readonly cpu: () => Promise<number>
  /** Its memory in bytes, after garbage collection. */
  readonly memory: () => Promise<{ readonly rss: number; readonly heap: number }>
  readonly startProfile: () => Promise<void>
  readonly stopProfile: (file: string) => Promise<void>
  /** Ends it and waits for its exit. */
  readonly stop: () => Promise<void>
}

const isNotified = <Tag extends Report["_tag"]>(report: Report, tag: Tag): report is Notified<Tag> =>
  report._tag === tag

/** Starts a script of `servers` or an absolute path, which ends with this process. Rejects when it does not listen in time. */
export const startChild = async (
  script: string,
  environment: { readonly [name: string]: string } = {}
): Promise<Child> => {
  const file = fileURLToPath(new URL(script, new URL("servers/", import.meta.url)))
  const child = guardChild(
    fork(file, {
      env: { ...process.env, ...environment },
      execArgv: ["--expose-gc"],
      stdio: ["ignore", 2, 2, "ipc"]
    })
  )
  const { pid } = child
  if (pid === undefined) throw new Error(`${script} cannot be started`)
  pin(pid, processors.servers)

  /** Orders do not overlap: the next report belongs to the last order. */
  const received = <Tag extends Report["_tag"]>(tag: Tag) =>
    new Promise<Notified<Tag>>((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer)
        child.off("message", notified).off("exit", gone)
        act()
      }
      const notified = (report: Report) =>
        settle(() =>
          isNotified(report, tag)
            ? resolve(report)
            : reject(new Error(`${script} reported ${report._tag} instead of ${tag}`))
        )
      const gone = () => settle(() => reject(new Error(`${script} exited unexpectedly`)))
      const timer = setTimeout(() => {
        settle(() => reject(new Error(`${script} did not report ${tag} within ${timeout} ms`)))
        child.kill("SIGKILL")
      }, timeout)
      child.on("message", notified).on("exit", gone)
    })
  // A failed write needs no handling: the exit event reports an ended process.
  const order = (wanted: Order) => void child.send(wanted, () => undefined)
  const ask = <Tag extends Report["_tag"]>(wanted: Order, tag: Tag) => {
    const report = received(tag)
    order(wanted)
    return report
  }

  const { address } = await received("Listening")
  return {
    address,
    pid,
    cpu: async () => (await ask({ _tag: "Cpu" }, "Cpu")).micros,
    memory: () => ask({ _tag: "Memory" }, "Memory"),
    startProfile: async () => void (await ask({ _tag: "StartProfile" }, "Profiling")),
    stopProfile: async (file) => void (await ask({ _tag: "StopProfile", file }, "Profiled")),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, "exit")
      const kill = () => void child.kill("SIGKILL")
      const timer = setTimeout(kill, timeout)
      if (child.connected) order({ _tag: "Stop" })
      else kill()
      await ended
      clearTimeout(timer)
    }
  }
}
