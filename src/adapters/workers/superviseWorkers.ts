import { type ChildProcess, fork } from "node:child_process"
import { createServer, Socket } from "node:net"
import { createInterface } from "node:readline"
import { Readable } from "node:stream"
import { Clock, Data, Deferred, Duration, Effect, Exit, FiberSet } from "effect"
import type { AuditRecorder } from "../../application/ports/AuditLog.ts"
import { ListenError } from "../../application/ports/Transport.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { parseJsonObject } from "../../domain/json.ts"
import { cannot, listen, listeningUrl } from "../http/httpServer.ts"
import { type ConnectionQueue, makeConnectionQueue } from "./connectionQueue.ts"
import { encodeWorkerIdentity, type WorkerIdentity, workerVariable } from "./WorkerIdentity.ts"
import { type ToWorker, toPrimary, toWorker } from "./workerMessages.ts"
import { makeCommandSequencer } from "./WorkerCluster.ts"

/** A worker that lives this long starts again at once. */
const stableTime = Duration.toMillis("10 seconds")

/** Pauses before a worker starts again that ended soon after its start: each doubles the last one. */
const minBackoff = Duration.toMillis("250 millis")
const maxBackoff = Duration.toMillis("10 seconds")

/** Milliseconds between two checks of a worker, and how many in a row without a message end it: it stalls. */
const checkInterval = 1000
const maxSilentChecks = 10

/** The descriptor of a worker that takes lines of the audit, after its channel. */
const auditDescriptor = 4

/** The file to which a worker writes its audit. */
export const workerAuditFile = `/dev/fd/${auditDescriptor}`

interface WorkersOptions extends Pick<WorkerIdentity, "count" | "folder"> {
  readonly host: string
  readonly port: number
  readonly hasTls: boolean
  /** The words of the command line after the program, which is that of this process. */
  readonly args: ReadonlyArray<string>
  readonly audit: AuditRecorder | undefined
  /** Time for the graceful shutdown, after which the workers are killed. */
  readonly stopTimeout: Duration.Duration
}

/** The first worker has ended before it served: its own error says why. */
export class WorkerStartFailed extends Data.TaggedError("WorkerStartFailed")<{ readonly exitCode: number }> {}

/** Records the lines of a worker's audit. The last one of a worker that was killed may be incomplete. */
const recordLines = (input: Readable, audit: AuditRecorder | undefined): void =>
  void createInterface({ input }).on("line", (line) => {
    const { time, ...fields } = parseJsonObject(line) ?? {}
    if (typeof time === "string") audit?.record({ time: Date.parse(time), fields })
  })

/** Sends a message, with a connection that stays open here. The end of the process reports a failure. */
const sendTo = (child: ChildProcess, message: ToWorker, socket?: Socket): void =>
  void child.send(toWorker.encode(message), socket, { keepOpen: true }, () => undefined)

/** Makes the function that runs the process of a worker until it ends, and gives the reason. */
const makeRunner = (
  { args, audit, count, folder }: WorkersOptions,
  { onReady, queue, url }: { readonly url: string; readonly queue: ConnectionQueue; readonly onReady: () => void }
) => {
  const sequencer = makeCommandSequencer()
  const running = new Set<ChildProcess>()

  /** Handles the messages of a worker. The returned function is called when it has ended. */
  const serve = (index: number, child: ChildProcess) => {
    let receiver: ReturnType<ConnectionQueue["addReceiver"]> | undefined
    let node = ""
    let silentChecks = 0
    /** Connections that this worker passes on, until its copy of them is closed. */
    const passing: Array<() => void> = []
    const send = (message: ToWorker, socket?: Socket) => sendTo(child, message, socket)
    const timer = setInterval(() => {
      if (receiver !== undefined && ++silentChecks > maxSilentChecks) child.kill("SIGKILL")
    }, checkInterval)
    running.add(child)
    child.on("message", (raw, socket) => {
      silentChecks = 0
      const message = toPrimary.decode(raw)
      switch (message._tag) {
        case "NodeAdded":
          node = message.node
          return sequencer.add(node, send)
        case "Ready":
          receiver = queue.addReceiver(index, send)
          return onReady()
        case "Taken":
          return receiver?.taken()
        case "Stopping":
          return receiver?.stop()
        case "Connection":
          if (socket instanceof Socket) socket.on("error", () => undefined)
          return void passing.push(() => socket instanceof Socket && queue.pass(message, socket))
        case "Passed":
          return passing.shift()?.()
        case "Commands":
          return sequencer.submit(message)
        case "Alive":
          return
      }
    })
    return () => {
      clearInterval(timer)
      running.delete(child)
      receiver?.end()
      for (const pass of passing.splice(0)) pass()
      sequencer.remove(node)
    }
  }

  const run = (index: number) =>
    Effect.callback<{ readonly code: number | null; readonly reason: string }>((resume) => {
      const identity = encodeWorkerIdentity({ index, count, folder, url })
      const env = { ...process.env, [workerVariable]: identity }
      const child = fork(process.argv[1] ?? "", [...args], {
        env,
        stdio: ["ignore", "inherit", "inherit", "ipc", "pipe"]
      })
      const lines = child.stdio[auditDescriptor]
      if (lines instanceof Readable) recordLines(lines, audit)
      const onEnd = serve(index, child)
      child.once("exit", onEnd)
      child.once("close", (code, signal) => {
        onEnd()
        resume(Effect.succeed({ code, reason: signal ?? `exit code ${code}` }))
      })
      // The end follows.
      child.on("error", () => undefined)
      return Effect.sync(() => void child.kill("SIGKILL"))
    }).pipe(Effect.catchDefect((defect) => Effect.succeed({ code: null, reason: errorMessage(defect) })))
  return { run, sendAll: (message: ToWorker) => running.forEach((child) => sendTo(child, message)) }
}

/**
 * Runs the workers of a Server until the scope closes: the first one, and when it serves, the others. A worker that ends is
 * started again. Connections go to the workers in turn. Fails when the first one ends before it serves.
 */
export const superviseWorkers = Effect.fnUntraced(function* (options: WorkersOptions) {
  const { count, hasTls, host, port, stopTimeout } = options
  const queue = makeConnectionQueue((workers) => sendAll({ _tag: "Serving", workers }))
  // Connections are not read here.
  const server = createServer({ pauseOnConnect: true }, queue.add)
  yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
  const address = yield* listen(server, { host, port }, cannot("listen", ListenError))
  const url = listeningUrl(hasTls ? "https" : "http", address)

  const started = yield* Deferred.make<void, WorkerStartFailed>()
  const stopping = yield* Deferred.make<void>()
  const { run, sendAll } = makeRunner(options, { queue, url, onReady: () => Deferred.doneUnsafe(started, Exit.void) })

  const keepRunning = Effect.fnUntraced(function* (index: number) {
    let pause = 0
    while (!Deferred.isDoneUnsafe(stopping)) {
      const startedAt = yield* Clock.currentTimeMillis
      const { code, reason } = yield* run(index)
      if (Deferred.isDoneUnsafe(stopping)) return
      if (!Deferred.isDoneUnsafe(started)) {
        return void (yield* Deferred.fail(started, new WorkerStartFailed({ exitCode: code ?? 1 })))
      }
      const isStable = (yield* Clock.currentTimeMillis) - startedAt >= stableTime
      pause = isStable ? 0 : Math.min(maxBackoff, Math.max(minBackoff, 2 * pause))
      yield* Effect.logWarning("worker ended, starting another", { worker: index, reason, pauseSeconds: pause / 1000 })
      yield* Effect.raceFirst(Effect.sleep(pause), Deferred.await(stopping))
    }
  })

  const fibers = yield* FiberSet.make()
  yield* FiberSet.run(fibers, keepRunning(0))
  yield* Deferred.await(started)
  for (let index = 1; index < count; index++) yield* FiberSet.run(fibers, keepRunning(index))

  return {
    url,
    /** Asks all workers to reload their files. */
    reload: Effect.sync(() => sendAll({ _tag: "Reload" })),
    /** Shuts all workers down gracefully, and ends when they have ended. */
    stop: Effect.fnUntraced(function* (signal: string) {
      yield* Deferred.succeed(stopping, undefined)
      sendAll({ _tag: "Stop", signal })
      yield* Effect.timeoutOption(FiberSet.awaitEmpty(fibers), stopTimeout)
    })
  }
})
