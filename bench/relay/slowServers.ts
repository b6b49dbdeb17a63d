/** Lets a server run a third of the time only. The thread that does so runs beside the load. */
import { isMainThread, Worker, workerData } from "node:worker_threads"

/** Milliseconds of a pause and of the run after it: clients must fill all their calls in flight during a pause. */
const pauseMillis = 2
const runMillis = 1

/** The words of the shared memory: the process to slow down, 0 for none; and 1 until the thread has let it go. */
const slowed = 0
const held = 1

/** Milliseconds to wait for the thread to let a process go. */
const releaseTimeout = 1000

const sleeping = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
const sleep = (millis: number) => void Atomics.wait(sleeping, 0, 0, millis)

const slowDown = (shared: Int32Array): never => {
  for (;;) {
    const pid = Atomics.load(shared, slowed)
    if (pid === 0) {
      Atomics.store(shared, held, 0)
      Atomics.notify(shared, held)
      Atomics.wait(shared, slowed, 0)
      continue
    }
    process.kill(pid, "SIGSTOP")
    sleep(pauseMillis)
    process.kill(pid, "SIGCONT")
    sleep(runMillis)
  }
}

const memory: unknown = workerData
if (!isMainThread && memory instanceof SharedArrayBuffer) slowDown(new Int32Array(memory))

const startThread = () => {
  const shared = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))
  new Worker(new URL(import.meta.url), { workerData: shared.buffer }).unref()
  return shared
}

let started: Int32Array | undefined

/** Slows one process down until the returned function is called, which waits until the process runs again. */
export const slow = (pid: number): (() => void) => {
  const shared = (started ??= startThread())
  Atomics.store(shared, held, 1)
  Atomics.store(shared, slowed, pid)
  Atomics.notify(shared, slowed)
  return () => {
    Atomics.store(shared, slowed, 0)
    if (Atomics.wait(shared, held, 1, releaseTimeout) === "timed-out") throw new Error(`process ${pid} is still slow`)
  }
}
