import { performance } from "node:perf_hooks"
import { Duration, Effect } from "effect"

const period = Duration.seconds(1)

/** A period with this busy share is a load. */
const loadShare = 0.1

/** A period with a smaller busy share is quiet: pings, and a few small messages. */
const quietShare = 0.02

/** Quiet periods that end a load: in shorter pauses, the next load would pay for the action. */
const quietPeriods = 60

/** Makes a function that gives the busy share of the event loop of this process since its last call, from 0 to 1. */
export const makeBusyShareReader = (): (() => number) => {
  let last = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return utilization
  }
}

/**
 * Runs an action after each load: after a minute in which each second was busy for less than 2 %, if a second was busy for
 * a tenth since the last time. The time before the first minute counts as a load.
 */
export const runAfterLoads = (action: () => void, readBusyShare: () => number): Effect.Effect<never> =>
  Effect.suspend(() => {
    let isLoaded = true
    let quiet = 0
    const check = Effect.sync(() => {
      const share = readBusyShare()
      if (share >= loadShare) isLoaded = true
      quiet = share < quietShare ? quiet + 1 : 0
      if (!isLoaded || quiet < quietPeriods) return
      isLoaded = false
      action()
    })
    return Effect.forever(Effect.andThen(Effect.sleep(period), check))
  })

/** Bytes that are worth a full collection of garbage at once, and at the end of an event. */
const urgentBytes = 32 * 1024 * 1024
const worthwhileBytes = 8 * 1024 * 1024

/** Seconds without further frees that end an event. */
const calmPeriods = 3

/** What {@link runAfterFrees} does. */
export interface AfterFrees {
  /** Within two seconds after 32 MiB were freed: the event may go on. */
  readonly collect: () => void
  /** At the end of an event: three seconds after the last of at least 8 MiB. */
  readonly release: () => void
}

/**
 * Acts after an event that frees much, as `readFreedBytes`, the sum of all frees, tells. A second between lets closed
 * sockets release their buffers.
 */
export const runAfterFrees = ({ collect, release }: AfterFrees, readFreedBytes: () => number): Effect.Effect<never> =>
  Effect.suspend(() => {
    let released = readFreedBytes()
    let collected = released
    let last = released
    let calm = 0
    const check = Effect.sync(() => {
      const freed = readFreedBytes()
      const isUrgent = last - collected >= urgentBytes
      calm = freed === last ? calm + 1 : 0
      last = freed
      if (calm >= calmPeriods && freed - released >= worthwhileBytes) {
        released = freed
        collected = freed
        release()
      } else if (isUrgent) {
        collected = freed
        collect()
      }
    })
    return Effect.forever(Effect.andThen(Effect.sleep(period), check))
  })
