import { performance } from "node:perf_hooks"

/** Sampling interval in milliseconds. */
const pause = 1000

/** The scheduling delay of the machine. */
export interface Lateness {
  /** Maximum wait for a processor within two successive samples, in milliseconds. */
  readonly worst: () => number
  readonly stop: () => void
}

/** The time in milliseconds in which this thread had work but no processor. */
const withoutProcessor = () => {
  const { system, user } = process.threadCpuUsage()
  return performance.eventLoopUtilization().active - (system + user) / 1000
}

/** Measures how long this thread waits for a processor. Its computations do not count as lateness. */
export const watchLateness = (): Lateness => {
  let last = withoutProcessor()
  let before = 0
  let worst = 0
  const look = () => {
    const now = withoutProcessor()
    const late = Math.max(0, now - last)
    last = now
    // A wait may span two samples.
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
