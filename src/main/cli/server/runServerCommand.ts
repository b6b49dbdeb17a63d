import { Deferred, Effect, Exit } from "effect"
import { parseWorkerIdentity, workerVariable } from "../../../adapters/workers/WorkerIdentity.ts"
import { hasTerminal, surviveHangup } from "../../config/hangup.ts"
import { type ServerCommandOptions, toServerOptions } from "./flags.ts"
import { announce, serve } from "./startServer.ts"

/** Exit codes of a process that a signal ends, by convention. */
const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

type StopSignal = keyof typeof exitCodes

const signals: ReadonlyArray<StopSignal> = ["SIGINT", "SIGTERM", ...(hasTerminal ? (["SIGHUP"] as const) : [])]

/**
 * Handles the stop signals instead of the previous listeners, for as long as the scope. The effect that it gives ends
 * with the first signal. A second signal ends the process at once, except SIGHUP: a shell and the system may both send
 * it.
 */
const stopSignal = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const received = Deferred.makeUnsafe<StopSignal>()
      const onSignal = (signal: StopSignal) => {
        if (Deferred.doneUnsafe(received, Exit.succeed(signal)) || signal === "SIGHUP") return
        process.exit(exitCodes[signal])
      }
      // Without a listener in between, Node would drop a signal that waits for the event loop.
      const replaced = signals.map((signal) => {
        const listeners = process.listeners(signal)
        process.on(signal, onSignal)
        for (const listener of listeners) process.off(signal, listener)
        return { signal, listeners }
      })
      return { received, onSignal, replaced }
    }),
    ({ onSignal, replaced }) =>
      Effect.sync(() => {
        for (const { listeners, signal } of replaced) {
          for (const listener of listeners) process.on(signal, listener)
          process.off(signal, onSignal)
        }
      })
  ),
  ({ received }) => Deferred.await(received)
)

/** Runs a Server until a signal requests its shutdown; prints its URL to stdout once members can connect. */
export const runServerCommand = Effect.fnUntraced(function* (options: ServerCommandOptions) {
  yield* surviveHangup
  const stopRequested = yield* stopSignal
  const worker = parseWorkerIdentity(process.env[workerVariable])
  if (worker === undefined && options.workers === 1) {
    const prepared = yield* toServerOptions(options)
    yield* serve(options, prepared, (url) => Effect.andThen(announce(options, url), stopRequested))
  } else {
    const { runWorker, runWorkers } = yield* Effect.promise(() => import("./workers.ts"))
    if (worker !== undefined) return yield* runWorker(options, worker, stopRequested)
    yield* runWorkers(options, stopRequested)
  }
  yield* Effect.logInfo("server stopped")
})
