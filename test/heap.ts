import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const gc: () => void = runInNewContext("gc")

/** Bytes of objects and buffers that live, after everything that can be collected has been. */
export const liveHeap = (): number => {
  // What the first collection finalises is only free after the second.
  gc()
  gc()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
