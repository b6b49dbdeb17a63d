import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const gc: () => void = runInNewContext("gc")

/** Bytes of live objects and buffers after a full collection. */
export const liveHeap = (): number => {
  // The second collection frees what the first one finalises.
  gc()
  gc()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
