import { Context, Effect, Layer } from "effect"
import * as AuditFile from "../../../adapters/audit/AuditFile.ts"
import * as GcTuning from "../../../adapters/process/gcTuning.ts"
import { AuditLog } from "../../../application/ports/AuditLog.ts"
import { Authenticator } from "../../../application/ports/Authenticator.ts"
import { Server } from "../../../application/server/lifecycle/Server.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { officePagePath } from "../../../domain/page/route.ts"
import { reloadRequests } from "../../config/hangup.ts"
import { watchTlsFiles } from "../../config/serverFiles.ts"
import { serverLayer } from "../../layers/serverLayer.ts"
import { printLine } from "../output/print.ts"
import { makeAuthenticator } from "./authentication.ts"
import type { PreparedOptions, ServerCommandOptions } from "./flags.ts"

/** The audit file of the flags; none without one. */
export const auditLayer = (audit: PreparedOptions["audit"]) =>
  audit === undefined ? AuditLog.layerNone : AuditFile.layer({ ...audit, reopen: reloadRequests })

/** Prints where members and operators reach the Server. */
export const announce = Effect.fnUntraced(function* ({ page }: ServerCommandOptions, url: string) {
  yield* printLine(`listening on ${url}`)
  if (page) yield* printLine(`office page at ${url}${officePagePath}`)
})

/** Serves as long as the effect that `onListening` makes, which gives the signal for the shutdown; then drains. */
export const serve = Effect.fnUntraced(function* <E, R>(
  options: ServerCommandOptions,
  { audit, layer: layerOptions, tls: tlsFiles }: PreparedOptions,
  onListening: (url: string) => Effect.Effect<string, E, R>
) {
  GcTuning.tuneGcForRelay()
  const tls = tlsFiles && (yield* watchTlsFiles(tlsFiles))
  const authenticator = yield* makeAuthenticator(options, tls !== undefined)
  const layer = serverLayer({ ...layerOptions, ...definedOnly({ tls }) }).pipe(
    Layer.provide(Layer.succeed(Authenticator, authenticator)),
    Layer.provide(auditLayer(audit))
  )
  const { url } = Context.get(yield* Layer.build(layer), Server)
  yield* Effect.forkScoped(Effect.all([GcTuning.adaptToLoads, GcTuning.collectAfterFrees], { concurrency: 2 }))
  yield* Effect.logInfo("shutdown requested", { signal: yield* onListening(url) })
}, Effect.scoped)
