import { performance } from "node:perf_hooks"

/** Milliseconds between two looks. */
const pause = 1000

/** How late the machine makes whoever works on it. */
export interface Lateness {
  /** Milliseconds that it made us wait for a processor at worst, within two looks that follow each other. */
  readonly worst: () => number
  readonly stop: () => void
}

/** Milliseconds that this thread has had work to do, less those in which a processor did it. */
const withoutProcessor = () => {
  const { system, user } = process.threadCpuUsage()
  return performance.eventLoopUtilization().active - (system + user) / 1000
}

/**
 * Watches how long this thread waits for a processor that others of the machine have. What the thread computes itself
 * is not lateness, however long it takes.
 */
export const watchLateness = (): Lateness => {
  let last = withoutProcessor()
  let before = 0
  let worst = 0
  const look = () => {
    const now = withoutProcessor()
    const late = Math.max(0, now - last)
    last = now
    // What began in one of the pauses may have ended in the next.
    worst = Math.max(worst, before + late)
    before = late
  }
  const timer = setInterval(look, pause)
  return {
    worst: () => {
      look()
      return worst
    },
    stop: () => clearInterval(timer)
  }
}
