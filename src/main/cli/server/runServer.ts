import { Context, Deferred, Effect, Exit, Layer } from "effect"
import * as AuditFile from "../../../adapters/audit/AuditFile.ts"
import { officePagePath } from "../../../domain/page/serverPages.ts"
import { collectAfterFrees, releaseMemoryAfterLoads, tuneGcForRelay } from "../../../adapters/process/gcTuning.ts"
import { Authenticator } from "../../../application/ports/Authenticator.ts"
import { Server } from "../../../application/server/lifecycle/Server.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { hasTerminal, surviveHangup } from "../../config/hangup.ts"
import { watchTlsFiles } from "../../config/serverFiles.ts"
import { failCommand } from "../CommandFailed.ts"
import { printLine } from "../output/print.ts"
import { serverLayer } from "../../layers/serverLayer.ts"
import { makeAuthenticator } from "./authentication.ts"
import type { ServerCommandOptions } from "./flags.ts"
import { toLimits } from "./limitFlags.ts"

/** Exit codes of a process that a signal ends, by convention. */
const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

type StopSignal = keyof typeof exitCodes

const signals: ReadonlyArray<StopSignal> = ["SIGINT", "SIGTERM", ...(hasTerminal ? (["SIGHUP"] as const) : [])]

/**
 * Handles the stop signals in place of the previous listeners, for as long as the scope. The effect that it gives ends
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

const readTls = Effect.fnUntraced(function* ({ tlsCert: cert, tlsKey: key }: ServerCommandOptions) {
  if (cert === undefined && key === undefined) return undefined
  if (cert !== undefined && key !== undefined) return yield* watchTlsFiles({ cert, key })
  return yield* failCommand("A certificate needs its key: give --tls-cert and --tls-key together")
})

const auditLayer = ({ audit: file, auditKeep: keep, auditMaxBytes: maxBytes }: ServerCommandOptions) =>
  file === undefined ? Layer.empty : AuditFile.layer({ file, keep, maxBytes })

/** Serves until a signal requests a shutdown, then drains. */
const serve = Effect.fnUntraced(function* (options: ServerCommandOptions, stopRequested: Effect.Effect<string>) {
  const {
    appOrigin,
    appPort,
    drainTimeout,
    limits,
    nodeAddress,
    page,
    pageBodies,
    redis,
    redisPrefix,
    requireRole,
    ...socketIo
  } = options
  if (pageBodies && !page) return yield* failCommand("--page-bodies needs the office page: remove --no-page")
  if (appOrigin !== undefined && appPort === undefined) return yield* failCommand("--app-origin needs --app-port")
  if (nodeAddress !== undefined && redis === undefined) return yield* failCommand("--node-address needs --redis")
  const tls = yield* readTls(options)
  const authenticator = yield* makeAuthenticator(options, tls !== undefined)
  const layer = serverLayer({
    ...socketIo,
    limits: toLimits(limits),
    settings: { requireRole, drainTimeout },
    page: page && { ...(pageBodies && { bodies: {} }), apps: definedOnly({ origin: appOrigin, port: appPort }) },
    ...definedOnly({
      redis: redis && { url: redis, prefix: redisPrefix, ...definedOnly({ address: nodeAddress }) },
      tls
    })
  }).pipe(Layer.provide(Layer.succeed(Authenticator, authenticator)))
  const { url } = Context.get(yield* Layer.build(Layer.provide(layer, auditLayer(options))), Server)
  yield* printLine(`listening on ${url}`)
  if (page) yield* printLine(`office page at ${url}${officePagePath}`)
  yield* Effect.forkScoped(Effect.all([releaseMemoryAfterLoads, collectAfterFrees], { concurrency: "unbounded" }))
  yield* Effect.logInfo("shutdown requested", { signal: yield* stopRequested })
}, Effect.scoped)

/** Runs a Server until a signal requests its shutdown; prints its URL to stdout once members can connect. */
export const runServer = Effect.fnUntraced(function* (options: ServerCommandOptions) {
  tuneGcForRelay()
  yield* surviveHangup
  yield* serve(options, yield* stopSignal)
  yield* Effect.logInfo("server stopped")
})
