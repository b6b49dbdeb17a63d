import { closeSync, openSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads"
import type { ErrorObject } from "ajv"
import type { WorkerResponse, WorkerRequest, WorkerData } from "./worker.ts"
import { systemErrorCode } from "../../domain/errorMessage.ts"

/** The worker was terminated during its work. */
export class SchemaTimeout extends Error {}

/** The system cannot start a worker now. */
export class WorkerUnavailable extends Error {}

/** Milliseconds per request. The main thread is blocked meanwhile. */
const timeouts = { compiling: 2000, checking: 500 }

/** In milliseconds: a hundred times the start on an idle machine. */
const startTimeout = 10_000

/** Milliseconds without a new attempt after a failed start, so the main thread is not blocked again. */
const restartDelay = 60_000

const maxHeapMegabytes = 256

/** More file descriptors than the start of a worker takes. */
const requiredDescriptors = 16

type WorkerThread = { readonly worker: Worker; readonly port: MessagePort; readonly signal: Int32Array }

/** The worker's source file, or its compiled one. */
const workerUrl = new URL(`./worker${import.meta.url.slice(-3)}`, import.meta.url)

/** Deliberately global: one worker per process. */
let current: WorkerThread | undefined
let unavailable: { readonly until: number; readonly cause: WorkerUnavailable } | undefined
let schemaCount = 0

const clearThread = (thread: WorkerThread): void => {
  if (current === thread) current = undefined
}

/** Blocks the main thread until the worker signals. False after a timeout. */
const waitForSignal = ({ signal }: Pick<WorkerThread, "signal">, millis: number): boolean =>
  Atomics.wait(signal, 0, 0, millis) !== "timed-out"

const terminate = (thread: WorkerThread): void => {
  clearThread(thread)
  thread.port.close()
  void thread.worker.terminate()
}

/** Throws when the process lacks file descriptors: the worker would fail to start without an error. */
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
    execArgv: [], // host flags such as --input-type would prevent the start
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
  if (current !== undefined) return current
  if (unavailable !== undefined && performance.now() < unavailable.until) throw unavailable.cause
  try {
    current = startThread()
    return current
  } catch (error) {
    const code = systemErrorCode(error)
    const cause =
      error instanceof WorkerUnavailable
        ? error
        : new WorkerUnavailable(`schema worker failed to start${code === undefined ? "" : `: ${code}`}`)
    unavailable = { until: performance.now() + restartDelay, cause }
    throw cause
  }
}

/**
 * Blocks until the response: only terminating its thread interrupts a regular expression. A timeout of
 * `node:vm` would start a thread per use and abort the process when the system has none.
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

/** Uses a schema, as JSON, in the worker. Throws {@link SchemaTimeout} and {@link WorkerUnavailable}. */
export const makeWorkerSchema = (schema: string) => {
  const key = String(++schemaCount)
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
