import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Bytes of messages after which those that have gone are collected: more, and V8 begins by itself, and with all. */
const collectEveryBytes = 16 * 1024 * 1024

/** Collects the young generation alone, which takes less than a millisecond. */
let collectYoungGeneration: (() => void) | undefined

let bytesSinceCollection = 0

/**
 * Tells V8 that this process passes bodies on, and keeps little. Messages are memory outside of its heap, of which it
 * sees little in need of collecting, until there is so much that it collects everything, again and again: more than
 * half of the time of a relay of large messages. With these rules they count together with the heap, which may grow to
 * four times what was left of it, the young generation stays small, and {@link countRelayedBytes} has messages collected with
 * it. For the process, as early as possible; where V8 has no such rules nothing happens.
 */
export const tuneGcForRelay = (): void => {
  if (Number(process.versions.node.split(".")[0]) < 24) return
  setFlagsFromString("--external-memory-accounted-in-global-limit")
  setFlagsFromString("--heap-growing-percent=300")
  setFlagsFromString("--semi-space-growth-factor=1")
  setFlagsFromString("--expose-gc")
  // Only contexts that are made from now on have it.
  const gc: unknown = runInNewContext("gc")
  if (typeof gc === "function") collectYoungGeneration = () => void gc({ type: "minor" })
}

/** Says that a message of so many bytes has been read, and passed on if it was to be. */
export const countRelayedBytes = (bytes: number): void => {
  bytesSinceCollection += bytes
  if (bytesSinceCollection < collectEveryBytes) return
  bytesSinceCollection = 0
  collectYoungGeneration?.()
}
