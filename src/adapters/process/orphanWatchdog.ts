import { Worker } from "node:worker_threads"

const watchdog = `
  import { workerData } from "node:worker_threads"
  import { setTimeout as sleep } from "node:timers/promises"
  const timer = setInterval(async () => {
    if (process.ppid === workerData.parent) return
    clearInterval(timer)
    await sleep(workerData.grace)
    process.kill(workerData.target, "SIGKILL")
  }, 1000)`

/**
 * Kills a process, or with a negative id a process group, `grace` milliseconds after the parent of this process has died.
 * A thread watches, since the event loop may be blocked for good.
 */
export const killWhenOrphaned = (target: number, grace = 0): void =>
  new Worker(new URL(`data:text/javascript,${encodeURIComponent(watchdog)}`), {
    // Read here: the parent may die before the thread runs.
    workerData: { parent: process.ppid, target, grace },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 8 }
  }).unref()
