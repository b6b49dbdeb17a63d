import { type ChildProcess, fork } from "node:child_process"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { Deferred, Duration, Effect, type Scope } from "effect"
import type { PackSource } from "../../../application/ports/packs/PackLoader.ts"
import type { ParentMessage, ChildMessage } from "./child.ts"
import type { PackLogLine } from "../execution/PackRuntime.ts"

/** A process that runs one pack. */
export interface PackProcess {
  /** Tells it something. Nothing happens when it is gone. */
  readonly send: (order: ParentMessage) => void
  /** Tells it something that it has to hear within a second; a process whose code never gives it back is killed. */
  readonly sendAcknowledged: (order: ParentMessage) => Effect.Effect<void>
}

/** Who listens to a process. */
export interface PackProcessHandlers {
  readonly onMessage: (report: Exclude<ChildMessage, { readonly type: "ack" | "disposed" }>) => void
  readonly onLogLine: (line: PackLogLine) => void
  /** The process is gone, and nobody asked for it. Comes once, with the reason. */
  readonly onExit: (reason: string) => void
}

/** How long a process may take to hear what it is told. */
const ackTimeout = Duration.seconds(1)

/** How long a process may take to clean up: the pack's five seconds, and some to say so. */
const shutdownTimeout = Duration.seconds(6)

/** How much of a printed line is logged, in characters. */
const maxLineLength = 16_384

/** The script of the process, of the sources or of what they were compiled to. */
const childScript = fileURLToPath(new URL(`./child${import.meta.url.slice(-3)}`, import.meta.url))

/** Node leaves with this signal when the heap is full. */
const outOfMemorySignal = "SIGABRT"

const exitReason = (code: number | null, signal: string | null, memory: number): string => {
  if (signal === outOfMemorySignal)
    return `its process was aborted, most likely because it used more than ${memory} MiB of memory`
  return signal === null ? `its process exited with code ${code}` : `its process was killed by ${signal}`
}

/** Passes on what a process prints: our own output may be a protocol. */
const forwardOutput = (
  output: Readable | null,
  level: PackLogLine["level"],
  onLine: PackProcessHandlers["onLogLine"]
): void => {
  output?.setEncoding("utf8").on("data", (text: string) => {
    for (const line of text.split("\n")) {
      if (line.trim() !== "") onLine({ level, message: line.slice(0, maxLineLength), fields: {} })
    }
  })
}

/** Kills a process with everything it has started. */
const killProcessGroup = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // There is no such process any more.
  }
}

/** Starts a process, which is told to clean up, and killed, with the scope. */
export const spawnPackProcess = Effect.fnUntraced(function* (
  source: PackSource,
  { onExit, onLogLine, onMessage }: PackProcessHandlers
): Effect.fn.Return<PackProcess, never, Scope.Scope> {
  const exited = yield* Deferred.make<void>()
  const disposed = yield* Deferred.make<void>()
  /** What it was told and has to hear, oldest first. */
  const pendingAcks: Array<Deferred.Deferred<void>> = []
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      fork(childScript, [], {
        // Flags of the host program are not for it.
        execArgv: [`--max-old-space-size=${source.memory}`],
        serialization: "advanced",
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        detached: true // so that it leads a group of its own, and all of it can be killed
      })
    ),
    (started) =>
      Effect.andThen(
        Effect.sync(() => killProcessGroup(started)),
        Deferred.await(exited)
      )
  )

  let isClosing = false
  const reportExit = (reason: string): void => {
    if (Deferred.doneUnsafe(exited, Effect.void) && !isClosing) onExit(reason)
  }
  child.on("message", (report: ChildMessage) => {
    if (report.type === "disposed") Deferred.doneUnsafe(disposed, Effect.void)
    else if (report.type === "ack") {
      const order = pendingAcks.shift()
      if (order !== undefined) Deferred.doneUnsafe(order, Effect.void)
    } else onMessage(report)
  })
  child.on("error", ({ message }) => reportExit(`its process cannot be started: ${message}`))
  child.on("exit", (code, signal) => reportExit(exitReason(code, signal, source.memory)))
  forwardOutput(child.stdout, "Info", onLogLine)
  forwardOutput(child.stderr, "Warn", onLogLine)

  const send = (order: ParentMessage): void => {
    // What is gone has said so already.
    child.send(order, () => undefined)
  }

  const sendAcknowledged = Effect.fnUntraced(function* (order: ParentMessage) {
    const acknowledged = yield* Deferred.make<void>()
    pendingAcks.push(acknowledged)
    send(order)
    yield* Effect.raceFirst(Deferred.await(acknowledged), Deferred.await(exited)).pipe(
      Effect.timeoutOrElse({
        duration: ackTimeout,
        orElse: () =>
          Effect.sync(() => {
            reportExit("its process was unresponsive for a second and was killed")
            killProcessGroup(child)
          })
      })
    )
  })

  send({ type: "start", source })
  // It is told before it is killed: this finalizer is the younger one.
  yield* Effect.addFinalizer(() => {
    isClosing = true
    return Effect.interruptible(
      sendAcknowledged({ type: "dispose" }).pipe(
        Effect.andThen(Effect.raceFirst(Deferred.await(disposed), Deferred.await(exited))),
        Effect.timeoutOption(shutdownTimeout)
      )
    )
  })
  return { send, sendAcknowledged }
})
