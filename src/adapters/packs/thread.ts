import type { Readable } from "node:stream"
import { Worker } from "node:worker_threads"
import { Deferred, Duration, Effect, Predicate, type Scope } from "effect"
import type { PackSource } from "../../application/ports/PackLoader.ts"
import type { Order, Report, ThreadStart } from "./messages.ts"
import type { PackLine } from "./runtime.ts"
import { wordsOf } from "./thrown.ts"

/** A thread that runs one pack. */
export interface Thread {
  /** Tells it something. Nothing happens when it is gone. */
  readonly tell: (order: Order) => void
  /** Tells it something that it has to hear within a second; a thread whose code never gives it back is ended. */
  readonly insist: (order: Order) => Effect.Effect<void>
}

/** Who listens to a thread. */
export interface Listener {
  readonly onReport: (report: Exclude<Report, { readonly type: "heard" | "disposed" }>) => void
  readonly onLine: (line: PackLine) => void
  /** The thread is gone, and nobody asked for it. Comes once, with the reason. */
  readonly onFall: (reason: string) => void
}

/** How long a thread may take to hear what it is told. */
const hearing = Duration.seconds(1)

/** How long a thread may take to clean up: the pack's five seconds, and some to say so. */
const farewell = Duration.seconds(6)

/** How much of a printed line is logged, in characters. */
const longestLine = 16_384

/** Why a thread broke down, in words of who runs it. */
const breakdown = (error: unknown, memory: number): string =>
  Predicate.hasProperty(error, "code") && error.code === "ERR_WORKER_OUT_OF_MEMORY"
    ? `it took more than ${memory} MiB of memory`
    : `it broke down: ${wordsOf(error)}`

/** Passes on what a thread prints: our own output may be a protocol. */
const readPrinted = (output: Readable, level: PackLine["level"], onLine: Listener["onLine"]): void => {
  output.setEncoding("utf8").on("data", (text: string) => {
    for (const line of text.split("\n")) {
      if (line.trim() !== "") onLine({ level, message: line.slice(0, longestLine), fields: {} })
    }
  })
}

const make = (source: PackSource): Worker => {
  const workerData: ThreadStart = source
  return new Worker(new URL(`./worker${import.meta.url.slice(-3)}`, import.meta.url), {
    workerData,
    execArgv: [], // some flags of the host program, like --input-type, would keep a thread from starting
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: source.memory }
  })
}

/** Starts a thread, which is told to clean up and ended with the scope. */
export const open = Effect.fnUntraced(function* (
  source: PackSource,
  { onFall, onLine, onReport }: Listener
): Effect.fn.Return<Thread, never, Scope.Scope> {
  const gone = yield* Deferred.make<void>()
  const disposed = yield* Deferred.make<void>()
  /** What it was told and has to hear, oldest first. */
  const unheard: Array<Deferred.Deferred<void>> = []
  const worker = yield* Effect.acquireRelease(
    Effect.sync(() => make(source)),
    (thread) => Effect.promise(() => thread.terminate())
  )

  const fall = (reason: string): void => {
    if (Deferred.doneUnsafe(gone, Effect.void)) onFall(reason)
  }
  worker.on("message", (report: Report) => {
    if (report.type === "disposed") Deferred.doneUnsafe(disposed, Effect.void)
    else if (report.type === "heard") {
      const order = unheard.shift()
      if (order !== undefined) Deferred.doneUnsafe(order, Effect.void)
    } else onReport(report)
  })
  worker.on("error", (error) => fall(breakdown(error, source.memory)))
  worker.on("exit", (code) => fall(`it ended its process with code ${code}`))
  readPrinted(worker.stdout, "Info", onLine)
  readPrinted(worker.stderr, "Warn", onLine)
  worker.unref() // last, since listening to a thread keeps the process alive

  const tell = (order: Order): void => worker.postMessage(order)

  const insist = Effect.fnUntraced(function* (order: Order) {
    const heard = yield* Deferred.make<void>()
    unheard.push(heard)
    tell(order)
    yield* Effect.raceFirst(Deferred.await(heard), Deferred.await(gone)).pipe(
      Effect.timeoutOrElse({
        duration: hearing,
        orElse: () => {
          fall("it did not answer for a second while a call was given up, and was ended")
          return Effect.promise(() => worker.terminate())
        }
      })
    )
  })

  // It is told before it is ended: this finalizer is the younger one.
  yield* Effect.addFinalizer(() =>
    Effect.interruptible(
      insist({ type: "dispose" }).pipe(
        Effect.andThen(Effect.raceFirst(Deferred.await(disposed), Deferred.await(gone))),
        Effect.timeoutOption(farewell)
      )
    )
  )
  return { tell, insist }
})
