import { Console, Context, type Duration, Effect, Layer, Option, type Redacted } from "effect"
import * as AuditFile from "../../../adapters/audit/AuditFile.ts"
import { tuneGcForRelay } from "../../../adapters/process/gcTuning.ts"
import type { SocketIoServerOptions } from "../../../adapters/socketio/SocketIoServer.ts"
import type { Limits } from "../../../application/server/connections/Limits.ts"
import { Server } from "../../../application/server/lifecycle/Server.ts"
import { watchTlsFiles } from "../../config/tlsFiles.ts"
import { toCommandFailed, failCommand } from "../CommandFailed.ts"
import { serverLayer } from "../../layers/serverLayer.ts"
import { stopSignal } from "./stopSignal.ts"
import { type AuthenticationOptions, makeAuthenticator } from "./authentication.ts"

/** What the command line says about a Server. */
export interface ServerCommandOptions
  extends Omit<SocketIoServerOptions, "host" | "tls">,
    AuthenticationOptions {
  readonly requireRole: boolean
  readonly limits: Limits
  /** How long calls under way may take to end when it is told to stop. */
  readonly drainTimeout: Duration.Duration
  readonly tlsCert: Option.Option<string>
  readonly tlsKey: Option.Option<string>
  readonly redis: Option.Option<Redacted.Redacted<string>>
  readonly redisPrefix: string
  readonly audit: Option.Option<string>
  readonly auditMaxBytes: number
  readonly auditKeep: number
}

const readTls = Effect.fnUntraced(function* ({ tlsCert, tlsKey }: ServerCommandOptions) {
  if (Option.isNone(tlsCert) && Option.isNone(tlsKey)) return undefined
  if (Option.isSome(tlsCert) && Option.isSome(tlsKey)) {
    return yield* watchTlsFiles({ cert: tlsCert.value, key: tlsKey.value })
  }
  return yield* failCommand("A certificate needs its key: give --tls-cert and --tls-key together")
})

const auditLayer = ({ audit, auditKeep: keep, auditMaxBytes: maxBytes }: ServerCommandOptions) =>
  Option.match(audit, {
    onNone: () => Layer.empty,
    onSome: (file) => AuditFile.layer({ file, keep, maxBytes })
  })

/** Serves until a signal asks it to stop, and closes in order. */
const serve = Effect.fnUntraced(function* (
  options: ServerCommandOptions,
  stopRequested: Effect.Effect<string>
) {
  const {
    audit: _audit,
    auditKeep: _keep,
    auditMaxBytes: _maxBytes,
    drainTimeout,
    limits,
    redis,
    redisPrefix: prefix,
    requireRole,
    ...socketIo
  } = options
  const tls = yield* readTls(options)
  const authenticator = yield* makeAuthenticator(options, tls !== undefined)
  const layer = serverLayer({
    ...socketIo,
    limits,
    settings: { requireRole, drainTimeout },
    ...(Option.isSome(redis) && { redis: { url: redis.value, prefix } }),
    ...(tls !== undefined && { tls }),
    ...(authenticator !== undefined && { authenticator })
  })
  const { url } = Context.get(yield* Layer.build(Layer.provide(layer, auditLayer(options))), Server)
  yield* Console.log(`listening on ${url}`)
  yield* Effect.logInfo("told to stop", { signal: yield* stopRequested })
}, Effect.scoped)

/** Runs a Server until it is told to stop; says where on stdout as soon as members can connect. */
export const runServer = (options: ServerCommandOptions) =>
  Effect.gen(function* () {
    tuneGcForRelay()
    yield* serve(options, yield* stopSignal)
    yield* Effect.logInfo("stopped: nobody listens any more")
  }).pipe(Effect.scoped, Effect.mapError(toCommandFailed))
