import { type ChildProcess, fork } from "node:child_process"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { Deferred, Duration, Effect, type Scope } from "effect"
import type { PackSource } from "../../application/ports/PackLoader.ts"
import type { Order, Report } from "./child.ts"
import type { PackLine } from "./runtime.ts"

/** A process that runs one pack. */
export interface PackProcess {
  /** Tells it something. Nothing happens when it is gone. */
  readonly tell: (order: Order) => void
  /** Tells it something that it has to hear within a second; a process whose code never gives it back is killed. */
  readonly insist: (order: Order) => Effect.Effect<void>
}

/** Who listens to a process. */
export interface Listener {
  readonly onReport: (report: Exclude<Report, { readonly type: "heard" | "disposed" }>) => void
  readonly onLine: (line: PackLine) => void
  /** The process is gone, and nobody asked for it. Comes once, with the reason. */
  readonly onFall: (reason: string) => void
}

/** How long a process may take to hear what it is told. */
const hearing = Duration.seconds(1)

/** How long a process may take to clean up: the pack's five seconds, and some to say so. */
const farewell = Duration.seconds(6)

/** How much of a printed line is logged, in characters. */
const longestLine = 16_384

/** The script of the process, of the sources or of what they were compiled to. */
const script = fileURLToPath(new URL(`./child${import.meta.url.slice(-3)}`, import.meta.url))

/** Node leaves with this signal when the heap is full. */
const outOfMemory = "SIGABRT"

const reasonOf = (code: number | null, signal: string | null, memory: number): string => {
  if (signal === outOfMemory)
    return `it was aborted, most likely because it took more than ${memory} MiB of memory`
  return signal === null ? `it ended its process with code ${code}` : `it was ended by ${signal}`
}

/** Passes on what a process prints: our own output may be a protocol. */
const readPrinted = (output: Readable | null, level: PackLine["level"], onLine: Listener["onLine"]): void => {
  output?.setEncoding("utf8").on("data", (text: string) => {
    for (const line of text.split("\n")) {
      if (line.trim() !== "") onLine({ level, message: line.slice(0, longestLine), fields: {} })
    }
  })
}

/** Kills a process with everything it has started. */
const kill = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // There is no such process any more.
  }
}

/** Starts a process, which is told to clean up, and killed, with the scope. */
export const open = Effect.fnUntraced(function* (
  source: PackSource,
  { onFall, onLine, onReport }: Listener
): Effect.fn.Return<PackProcess, never, Scope.Scope> {
  const gone = yield* Deferred.make<void>()
  const disposed = yield* Deferred.make<void>()
  /** What it was told and has to hear, oldest first. */
  const unheard: Array<Deferred.Deferred<void>> = []
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      fork(script, [], {
        // Flags of the host program are not for it.
        execArgv: [`--max-old-space-size=${source.memory}`],
        serialization: "advanced",
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        detached: true // so that it leads a group of its own, and all of it can be killed
      })
    ),
    (started) =>
      Effect.andThen(
        Effect.sync(() => kill(started)),
        Deferred.await(gone)
      )
  )

  let isClosing = false
  const fall = (reason: string): void => {
    if (Deferred.doneUnsafe(gone, Effect.void) && !isClosing) onFall(reason)
  }
  child.on("message", (report: Report) => {
    if (report.type === "disposed") Deferred.doneUnsafe(disposed, Effect.void)
    else if (report.type === "heard") {
      const order = unheard.shift()
      if (order !== undefined) Deferred.doneUnsafe(order, Effect.void)
    } else onReport(report)
  })
  child.on("error", ({ message }) => fall(`it cannot be started: ${message}`))
  child.on("exit", (code, signal) => fall(reasonOf(code, signal, source.memory)))
  readPrinted(child.stdout, "Info", onLine)
  readPrinted(child.stderr, "Warn", onLine)

  const tell = (order: Order): void => {
    // What is gone has said so already.
    child.send(order, () => undefined)
  }

  const insist = Effect.fnUntraced(function* (order: Order) {
    const heard = yield* Deferred.make<void>()
    unheard.push(heard)
    tell(order)
    yield* Effect.raceFirst(Deferred.await(heard), Deferred.await(gone)).pipe(
      Effect.timeoutOrElse({
        duration: hearing,
        orElse: () =>
          Effect.sync(() => {
            fall("it did not answer for a second, and was killed")
            kill(child)
          })
      })
    )
  })

  tell({ type: "start", source })
  // It is told before it is killed: this finalizer is the younger one.
  yield* Effect.addFinalizer(() => {
    isClosing = true
    return Effect.interruptible(
      insist({ type: "dispose" }).pipe(
        Effect.andThen(Effect.raceFirst(Deferred.await(disposed), Deferred.await(gone))),
        Effect.timeoutOption(farewell)
      )
    )
  })
  return { tell, insist }
})
