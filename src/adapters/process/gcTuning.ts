import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { performance } from "node:perf_hooks"
import { Duration, Effect } from "effect"
import { setOptimization } from "./optimization.ts"

const period = Duration.seconds(1)

/** The busy share of a quiet period is less: pings, and a few small messages. */
const quietShare = 0.02

/** Quiet periods that end a load: in shorter pauses, the next load would pay for the action. */
const quietPeriods = 60

/** Makes a function that gives the CPU time of this process since its last call, as a share of the time. */
export const makeBusyShareReader = (): (() => number) => {
  const read = () => ({ ...process.cpuUsage(), now: performance.now() })
  let last = read()
  return () => {
    const { now, system, user } = last
    last = read()
    return (last.system - system + (last.user - user)) / 1000 / (last.now - now)
  }
}

/** Busy seconds that may belong to the start of a process, and those of a load after it. */
const startSeconds = 0.9
const loadSeconds = 0.2

/**
 * Runs `onLoad` when a load begins: when the process was busy for 0.2 s without a quiet second between.
 * Before the first quiet second it may still start, which takes less than 0.9 s. Runs `onQuiet` after each load, and after the
 * start: when each second of a minute was busy for less than 2 %.
 */
export const followLoads = (
  { onLoad, onQuiet }: { readonly onLoad: () => void; readonly onQuiet: () => void },
  readBusyShare: () => number
): Effect.Effect<never> =>
  Effect.suspend(() => {
    let busy = 0
    let limit = startSeconds
    let quiet = 0
    let isLoaded = false
    let isQuietDue = true
    const check = Effect.sync(() => {
      const share = readBusyShare()
      const isQuiet = share < quietShare
      busy = isQuiet ? 0 : busy + share
      quiet = isQuiet ? quiet + 1 : 0
      if (isQuiet) limit = loadSeconds
      if (busy >= limit && !isLoaded) {
        isLoaded = isQuietDue = true
        onLoad()
      } else if (isQuietDue && quiet >= quietPeriods) {
        isLoaded = isQuietDue = false
        onQuiet()
      }
    })
    return Effect.forever(Effect.andThen(Effect.sleep(period), check))
  })

/** Bytes that are worth a full collection, as long as some hundred members need to connect: at once, and after an event. */
const urgentBytes = 32 * 1024 * 1024
const worthwhileBytes = 4 * 1024 * 1024

/** Periods without further frees that end an event. */
const calmPeriods = 3

/**
 * Acts after an event that frees much, as `readFreedBytes`, the sum of all frees, tells. It collects within two seconds
 * after 32 MiB were freed, since the event may go on, and releases at its end: three seconds after the last of at least
 * 4 MiB. A second between lets closed sockets release their buffers.
 */
export const runAfterFrees = (
  { collect, release }: { readonly collect: () => void; readonly release: () => void },
  readFreedBytes: () => number
): Effect.Effect<never> =>
  Effect.suspend(() => {
    let released = readFreedBytes()
    let collected = released
    let last = released
    let calm = 0
    const check = Effect.sync(() => {
      const freed = readFreedBytes()
      calm = freed === last ? calm + 1 : 0
      if (last - collected >= urgentBytes) {
        collected = freed
        collect()
      } else if (calm >= calmPeriods && freed - released >= worthwhileBytes) {
        released = collected = freed
        release()
      }
      last = freed
    })
    return Effect.forever(Effect.andThen(Effect.sleep(period), check))
  })

/** Relayed bytes between two collections. With more, V8 starts a full collection itself. */
const collectEveryBytes = 16 * 1024 * 1024

type CollectGarbage = (options: { readonly type: "minor" | "major"; readonly flavor?: "last-resort" }) => void

let bytesSinceCollection = 0
let collector: CollectGarbage | undefined

/** Finds the collector of V8 once, where it can be called. */
const findCollector = (): CollectGarbage | undefined => {
  if (process.versions["bun"] !== undefined || collector !== undefined) return collector
  setFlagsFromString("--expose-gc")
  // Only new contexts have `gc`.
  const gc: unknown = runInNewContext("globalThis.gc")
  if (typeof gc === "function") collector = (options) => void gc(options)
  return collector
}

/** {@link tuneGcForRelay} has changed the settings of V8. */
let isTuned = false

/**
 * Tunes the garbage collector for a process that relays large messages. Messages are memory outside the V8 heap, which
 * V8 ignores until it runs full collections repeatedly: more than half of the time of such a relay. With these flags
 * messages count as heap, the heap may grow to four times its live size, and {@link countRelayedBytes} collects the young
 * generation. Affects the whole process; call it as early as possible. Does nothing before Node 24.
 */
export const tuneGcForRelay = (): void => {
  if (Number(process.versions.node.split(".")[0]) < 24) return
  setFlagsFromString("--external-memory-accounted-in-global-limit")
  setFlagsFromString("--heap-growing-percent=300")
  isTuned = true
}

export const countRelayedBytes = (bytes: number): void => {
  bytesSinceCollection += bytes
  if (bytesSinceCollection < collectEveryBytes) return
  bytesSinceCollection = 0
  if (isTuned) findCollector()?.({ type: "minor" })
}

let freedBytes = 0
let openSessions = 0

/** Counts a session that begins; {@link countFreedMember} counts its end. */
export const countSession = (): void => void (openSessions += 1)

/** Memory of a member in bytes, beside its queue: half of it in the heap. */
const memberBytes = 8 * 1024

/** Counts the memory that a member leaves when its session ends: its queue, and what the Server kept about it. */
export const countFreedMember = (queuedBytes: number): void => {
  openSessions -= 1
  freedBytes += queuedBytes + memberBytes
}

/** Frees the memory that V8 keeps for new objects, about 15 MB after the start of a process. Takes some 50 ms. */
export const releaseUnusedMemory = (): void => {
  findCollector()?.({ type: "major", flavor: "last-resort" })
}

const collect = (): void => findCollector()?.({ type: "major" })

/** A larger heap would stop the process for more than some 0.2 s. */
const maxReleasedHeap = 128 * 1024 * 1024

const releaseSmallHeap = (): void => {
  collect()
  if (process.memoryUsage().heapUsed <= maxReleasedHeap) releaseUnusedMemory()
}

/**
 * Collects garbage soon after members have left much of it. Old garbage waits for a full collection, which V8 delays until
 * the heap has grown to a multiple of its live size: that never happens when a queue was full before. V8 also keeps the
 * pages of collected garbage, which are freed when no more members leave. That also drops optimized code of sessions: after
 * the last one has left, it waits for {@link adaptToLoads}, since others may come.
 */
export const collectAfterFrees: Effect.Effect<never> = Effect.suspend(() => {
  if (!isTuned) return Effect.never
  const release = () => (openSessions > 0 ? releaseSmallHeap() : undefined)
  return runAfterFrees({ collect, release }, () => freedBytes)
})

/**
 * Lets V8 optimize code under the first load after the start. Frees the memory that V8 keeps after the start, and after each
 * load. V8 would free a part of it in the pauses of a load, which then begins with a small space for new objects again.
 */
export const adaptToLoads: Effect.Effect<never> = Effect.suspend(() => {
  // Other versions of V8 may not know the flag. It ends a process whose reducer is at work, from the eighth second on.
  if (isTuned && process.uptime() < 7) setFlagsFromString("--memory-reducer-gc-count=0")
  return followLoads({ onLoad: () => setOptimization(true), onQuiet: releaseSmallHeap }, makeBusyShareReader())
})
