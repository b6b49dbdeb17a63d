import { Context, Deferred, Effect, Exit, Layer } from "effect"
import { AuditLog } from "../../../application/ports/AuditLog.ts"
import * as AuditFile from "../../../adapters/audit/AuditFile.ts"
import { officePagePath } from "../../../domain/page/route.ts"
import * as GcTuning from "../../../adapters/process/gcTuning.ts"
import { Authenticator } from "../../../application/ports/Authenticator.ts"
import { Server } from "../../../application/server/lifecycle/Server.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { hasTerminal, reloadRequests, surviveHangup } from "../../config/hangup.ts"
import { watchTlsFiles } from "../../config/serverFiles.ts"
import { printLine } from "../output/print.ts"
import { serverLayer } from "../../layers/serverLayer.ts"
import { makeAuthenticator } from "./authentication.ts"
import { type ServerCommandOptions, toServerOptions } from "./flags.ts"

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

/** Serves until a signal requests a shutdown, then drains. */
const serve = Effect.fnUntraced(function* (options: ServerCommandOptions, stopRequested: Effect.Effect<string>) {
  const { audit, layer: layerOptions, tls: tlsFiles } = yield* toServerOptions(options)
  const tls = tlsFiles && (yield* watchTlsFiles(tlsFiles))
  const authenticator = yield* makeAuthenticator(options, tls !== undefined)
  const layer = serverLayer({ ...layerOptions, ...definedOnly({ tls }) }).pipe(
    Layer.provide(Layer.succeed(Authenticator, authenticator)),
    Layer.provide(audit === undefined ? AuditLog.layerNone : AuditFile.layer({ ...audit, reopen: reloadRequests }))
  )
  const { url } = Context.get(yield* Layer.build(layer), Server)
  yield* printLine(`listening on ${url}`)
  if (options.page) yield* printLine(`office page at ${url}${officePagePath}`)
  const watches = [GcTuning.optimizeUnderLoad, GcTuning.releaseMemoryAfterLoads, GcTuning.collectAfterFrees]
  yield* Effect.forkScoped(Effect.all(watches, { concurrency: "unbounded" }))
  yield* Effect.logInfo("shutdown requested", { signal: yield* stopRequested })
}, Effect.scoped)

/** Runs a Server until a signal requests its shutdown; prints its URL to stdout once members can connect. */
export const runServerCommand = Effect.fnUntraced(function* (options: ServerCommandOptions) {
  GcTuning.tuneGcForRelay()
  yield* surviveHangup
  yield* serve(options, yield* stopSignal)
  yield* Effect.logInfo("server stopped")
})
