import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Duration, Effect } from "effect"

/** Relayed bytes between two collections. With more, V8 starts a full collection itself. */
const collectEveryBytes = 16 * 1024 * 1024

type CollectGarbage = (options: { readonly type: "minor" | "major"; readonly flavor?: "last-resort" }) => void

let bytesSinceCollection = 0

let relayedBytes = 0

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

let isYoungGenerationSmall = false

const keepYoungGenerationSmall = (): void => {
  if (!isTuned) return
  isYoungGenerationSmall = true
  setFlagsFromString("--semi-space-growth-factor=1")
}

/** Lets the space for new objects grow to its maximum of 16 MB at once: a load then has fewer collections. */
const growYoungGeneration = (): void => {
  if (!isYoungGenerationSmall) return
  isYoungGenerationSmall = false
  setFlagsFromString("--semi-space-growth-factor=16")
}

/**
 * Tunes the garbage collector for a process that relays large messages. Messages are memory outside the V8 heap, which
 * V8 ignores until it runs full collections repeatedly: more than half of the time of such a relay. With these flags
 * messages count as heap, the heap may grow to four times its live size, and {@link countRelayedBytes} collects the young
 * generation, which grows under load only. Affects the whole process; call it as early as possible. Does nothing before
 * Node 24.
 */
export const tuneGcForRelay = (): void => {
  if (Number(process.versions.node.split(".")[0]) < 24) return
  setFlagsFromString("--external-memory-accounted-in-global-limit")
  setFlagsFromString("--heap-growing-percent=300")
  isTuned = true
  keepYoungGenerationSmall()
}

/** Counts the bytes of a relayed message. */
export const countRelayedBytes = (bytes: number): void => {
  relayedBytes += bytes
  bytesSinceCollection += bytes
  if (bytesSinceCollection < collectEveryBytes) return
  bytesSinceCollection = 0
  growYoungGeneration()
  if (isTuned) findCollector()?.({ type: "minor" })
}

/** Frees the memory that V8 keeps for new objects, about 15 MB after the start of a process. Takes some 50 ms. */
export const releaseUnusedMemory = (): void => {
  findCollector()?.({ type: "major", flavor: "last-resort" })
}

/** A time without more relayed bytes than these counts as quiet: pings, and a few small messages. */
const quietTime = Duration.seconds(2)
const quietBytes = 64 * 1024

/** Relayed bytes after which the next quiet time frees memory. */
const busyBytes = 16 * 1024 * 1024

/** A larger heap would stop the process for more than some 0.2 s. */
const maxReleasedHeap = 128 * 1024 * 1024

/** Frees the memory that a load needed, in the first quiet time after it: V8 keeps it until the next load. */
export const releaseMemoryWhenQuiet: Effect.Effect<never> = Effect.suspend(() => {
  let seenBytes = relayedBytes
  let releasedAt = relayedBytes
  const check = Effect.sync(() => {
    const isQuiet = relayedBytes - seenBytes <= quietBytes
    seenBytes = relayedBytes
    if (!isQuiet || relayedBytes - releasedAt < busyBytes) return
    releasedAt = relayedBytes
    keepYoungGenerationSmall()
    if (process.memoryUsage().heapUsed <= maxReleasedHeap) releaseUnusedMemory()
  })
  return Effect.forever(Effect.andThen(Effect.sleep(quietTime), check))
})
