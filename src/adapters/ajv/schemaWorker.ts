import { closeSync, openSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads"
import type { ErrorObject } from "ajv"
import type { WorkerResponse, WorkerRequest, WorkerData } from "./worker.ts"

/** Work was broken off, wherever it was. */
export class SchemaTimeout extends Error {}

/** There is no thread to ask: the system gives none right now. */
export class WorkerUnavailable extends Error {}

/** How long the use of a schema may take, in milliseconds: nothing else is done by then. */
const timeouts = { compiling: 2000, checking: 500 }

/** How long a thread may take until it is ready, in milliseconds: a hundred times what it takes on an idle machine. */
const startTimeout = 10_000

/** How long after one that did not start no other one is tried, in milliseconds: meanwhile nothing is waited for. */
const restartDelay = 60_000

/** Heap of the thread, in megabytes. */
const maxHeapMegabytes = 256

/** More descriptors than a thread takes to start. */
const requiredDescriptors = 16

interface WorkerThread {
  readonly worker: Worker
  readonly port: MessagePort
  readonly signal: Int32Array
}

/** What runs in the thread, of the sources or of what they were compiled to. */
const workerUrl = new URL(`./worker${import.meta.url.slice(-3)}`, import.meta.url)

/** The one thread of this process; until when none is started, and why; and how many schemas have had a name. */
const state: {
  thread: WorkerThread | undefined
  unavailable: { readonly until: number; readonly cause: WorkerUnavailable } | undefined
  schemaCount: number
} = { thread: undefined, unavailable: undefined, schemaCount: 0 }

const clearThread = (thread: WorkerThread): void => {
  if (state.thread === thread) state.thread = undefined
}

/** Waits for the thread's signal, with everything else of ours; false when it does not come. */
const waitForSignal = ({ signal }: Pick<WorkerThread, "signal">, millis: number): boolean =>
  Atomics.wait(signal, 0, 0, millis) !== "timed-out"

const terminate = (thread: WorkerThread): void => {
  clearThread(thread)
  thread.port.close()
  void thread.worker.terminate()
}

/** Fails when the system has not as many descriptors left as a thread takes: it would not start, without a word. */
const requireFreeDescriptors = (): void => {
  const path = fileURLToPath(workerUrl)
  const opened: Array<number> = []
  try {
    while (opened.length < requiredDescriptors) opened.push(openSync(path, "r"))
  } finally {
    opened.forEach(closeSync)
  }
}

const startThread = (): WorkerThread => {
  requireFreeDescriptors()
  const { port1: port, port2 } = new MessageChannel()
  const signal = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const workerData: WorkerData = { port: port2, signal }
  const worker = new Worker(workerUrl, {
    workerData,
    transferList: [port2],
    execArgv: [], // some flags of the host program, like --input-type, would keep a thread from starting
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMegabytes }
  })
  const thread: WorkerThread = { worker, port, signal }
  worker.on("error", () => clearThread(thread))
  worker.on("exit", () => clearThread(thread))
  worker.unref()
  port.unref()
  if (waitForSignal(thread, startTimeout)) return thread
  terminate(thread)
  throw new WorkerUnavailable(`schema worker did not start within ${startTimeout} ms`)
}

const currentThread = (): WorkerThread => {
  const { unavailable, thread } = state
  if (thread !== undefined) return thread
  if (unavailable !== undefined && performance.now() < unavailable.until) throw unavailable.cause
  try {
    state.thread = startThread()
    return state.thread
  } catch (error) {
    const code = error instanceof Error && "code" in error ? `: ${String(error.code)}` : ""
    const cause =
      error instanceof WorkerUnavailable
        ? error
        : new WorkerUnavailable(`schema worker failed to start${code}`)
    state.unavailable = { until: performance.now() + restartDelay, cause }
    throw cause
  }
}

/**
 * Asks the thread, and waits for its answer without doing anything else: only so it can be broken off, be it in the
 * midst of a regular expression. The time limits of `node:vm` start a thread for every use, and end the whole process
 * when the system has none to give.
 */
const request = (workerRequest: WorkerRequest, millis: number): WorkerResponse => {
  const thread = currentThread()
  Atomics.store(thread.signal, 0, 0)
  thread.port.postMessage(workerRequest)
  if (!waitForSignal(thread, millis)) {
    terminate(thread)
    throw new SchemaTimeout(`schema timeout after ${millis} ms`)
  }
  const received = receiveMessageOnPort(thread.port) as { readonly message: WorkerResponse }
  return received.message
}

/** A schema that is known by a thread of its own, which is started when it is needed and may be another one any time. */
export interface WorkerSchema {
  /** Throws when the schema cannot be used. */
  readonly compile: () => void
  /** What of a value does not fit. Throws when nobody can tell. */
  readonly check: (value: unknown) => ReadonlyArray<ErrorObject>
}

/** A schema, as JSON, in the thread: its use is broken off with {@link SchemaTimeout}, or not begun with {@link WorkerUnavailable}. */
export const makeWorkerSchema = (schema: string): WorkerSchema => {
  const key = String(++state.schemaCount)
  const compile = (): void => {
    const response = request({ key, schema }, timeouts.compiling)
    if (response.outcome === "failed") throw new Error(response.message)
  }
  const check = (value: unknown): ReadonlyArray<ErrorObject> => {
    const response = request({ key, value }, timeouts.checking)
    switch (response.outcome) {
      case "checked":
        return response.errors
      case "failed":
        throw new Error(response.message)
      case "compiled":
      case "unknown_schema":
        compile()
        return check(value)
    }
  }
  return { compile, check }
}
