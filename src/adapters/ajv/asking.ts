import { closeSync, openSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads"
import type { ErrorObject } from "ajv"
import type { Answer, Question, Start } from "./thread.ts"

/** Work was broken off, wherever it was. */
export class TookTooLong extends Error {}

/** There is no thread to ask: the system gives none right now. */
export class NotNow extends Error {}

/** How long the use of a schema may take, in milliseconds: nothing else is done by then. */
const longest = { compiling: 2000, checking: 500 }

/** How long a thread may take until it is ready, in milliseconds: a hundred times what it takes on an idle machine. */
const longestStart = 10_000

/** How long after one that did not start no other one is tried, in milliseconds: meanwhile nothing is waited for. */
const pause = 60_000

/** Heap of the thread, in megabytes. */
const heapLimit = 256

/** More descriptors than a thread takes to start. */
const descriptors = 16

interface Thread {
  readonly worker: Worker
  readonly port: MessagePort
  readonly signal: Int32Array
}

/** What runs in the thread, of the sources or of what they were compiled to. */
const script = new URL(`./thread${import.meta.url.slice(-3)}`, import.meta.url)

/** The one thread of this process; until when none is started, and why; and how many schemas have had a name. */
const state: {
  thread: Thread | undefined
  lack: { readonly until: number; readonly why: NotNow } | undefined
  schemas: number
} = { thread: undefined, lack: undefined, schemas: 0 }

const forget = (thread: Thread): void => {
  if (state.thread === thread) state.thread = undefined
}

/** Waits for the thread's signal, with everything else of ours; false when it does not come. */
const waitFor = ({ signal }: Pick<Thread, "signal">, millis: number): boolean =>
  Atomics.wait(signal, 0, 0, millis) !== "timed-out"

const end = (thread: Thread): void => {
  forget(thread)
  thread.port.close()
  void thread.worker.terminate()
}

/** Fails when the system has not as many descriptors left as a thread takes: it would not start, without a word. */
const checkDescriptors = (): void => {
  const path = fileURLToPath(script)
  const opened: Array<number> = []
  try {
    while (opened.length < descriptors) opened.push(openSync(path, "r"))
  } finally {
    opened.forEach(closeSync)
  }
}

const start = (): Thread => {
  checkDescriptors()
  const { port1: port, port2 } = new MessageChannel()
  const signal = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const workerData: Start = { port: port2, signal }
  const worker = new Worker(script, {
    workerData,
    transferList: [port2],
    execArgv: [], // some flags of the host program, like --input-type, would keep a thread from starting
    resourceLimits: { maxOldGenerationSizeMb: heapLimit }
  })
  const thread: Thread = { worker, port, signal }
  worker.on("error", () => forget(thread))
  worker.on("exit", () => forget(thread))
  worker.unref()
  port.unref()
  if (waitFor(thread, longestStart)) return thread
  end(thread)
  throw new NotNow(`no thread was ready within ${longestStart} ms`)
}

const current = (): Thread => {
  const { lack, thread } = state
  if (thread !== undefined) return thread
  if (lack !== undefined && performance.now() < lack.until) throw lack.why
  try {
    state.thread = start()
    return state.thread
  } catch (error) {
    const code = error instanceof Error && "code" in error ? `: ${String(error.code)}` : ""
    const why = error instanceof NotNow ? error : new NotNow(`a thread cannot be started${code}`)
    state.lack = { until: performance.now() + pause, why }
    throw why
  }
}

/**
 * Asks the thread, and waits for its answer without doing anything else: only so it can be broken off, be it in the
 * midst of a regular expression. The time limits of `node:vm` start a thread for every use, and end the whole process
 * when the system has none to give.
 */
const ask = (question: Question, millis: number): Answer => {
  const thread = current()
  Atomics.store(thread.signal, 0, 0)
  thread.port.postMessage(question)
  if (!waitFor(thread, millis)) {
    end(thread)
    throw new TookTooLong(`takes longer than ${millis} ms`)
  }
  const received = receiveMessageOnPort(thread.port) as { readonly message: Answer }
  return received.message
}

/** A schema that is known by a thread of its own, which is started when it is needed and may be another one any time. */
export interface Asked {
  /** Throws when the schema cannot be used. */
  readonly compile: () => void
  /** What of a value does not fit. Throws when nobody can tell. */
  readonly check: (value: unknown) => ReadonlyArray<ErrorObject>
}

/** A schema, as JSON, in the thread: its use is broken off with {@link TookTooLong}, or not begun with {@link NotNow}. */
export const inThread = (schema: string): Asked => {
  const key = String(++state.schemas)
  const compile = (): void => {
    const said = ask({ key, schema }, longest.compiling)
    if (said.outcome === "failed") throw new Error(said.message)
  }
  const check = (value: unknown): ReadonlyArray<ErrorObject> => {
    const said = ask({ key, value }, longest.checking)
    switch (said.outcome) {
      case "checked":
        return said.faults
      case "failed":
        throw new Error(said.message)
      case "compiled":
      case "unknown":
        compile()
        return check(value)
    }
  }
  return { compile, check }
}
