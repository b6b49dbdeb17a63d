import { Console, Context, type Duration, Effect, Layer, Option, type Redacted } from "effect"
import * as AuditFile from "../../adapters/node/AuditFile.ts"
import { tuneForRelay } from "../../adapters/node/relayMemory.ts"
import type { SocketIoServerOptions } from "../../adapters/socketio/SocketIoServer.ts"
import type { Limits } from "../../application/server/Limits.ts"
import { Server } from "../../application/server/Server.ts"
import { tlsFrom } from "../config/tlsFiles.ts"
import { failed, refuse } from "../failure.ts"
import { serverLayer } from "../serverLayer.ts"
import { stopSignal } from "../signals.ts"
import { type AuthenticationCommand, authenticationOf } from "./authentication.ts"

/** What the command line says about a Server. */
export interface ServerCommand extends Omit<SocketIoServerOptions, "host" | "tls">, AuthenticationCommand {
  readonly requireRole: boolean
  readonly limits: Limits
  /** How long calls under way may take to end when it is told to stop. */
  readonly drainTime: Duration.Duration
  readonly tlsCert: Option.Option<string>
  readonly tlsKey: Option.Option<string>
  readonly redis: Option.Option<Redacted.Redacted<string>>
  readonly redisPrefix: string
  readonly audit: Option.Option<string>
  readonly auditMaxBytes: number
  readonly auditKeep: number
}

const tlsOf = Effect.fnUntraced(function* ({ tlsCert, tlsKey }: ServerCommand) {
  if (Option.isNone(tlsCert) && Option.isNone(tlsKey)) return undefined
  if (Option.isSome(tlsCert) && Option.isSome(tlsKey)) {
    return yield* tlsFrom({ cert: tlsCert.value, key: tlsKey.value })
  }
  return yield* refuse("A certificate needs its key: give --tls-cert and --tls-key together")
})

const auditLayer = ({ audit, auditKeep: keep, auditMaxBytes: maxBytes }: ServerCommand) =>
  Option.match(audit, {
    onNone: () => Layer.empty,
    onSome: (file) => AuditFile.layer({ file, keep, maxBytes })
  })

/** Serves until a signal asks it to stop, and closes in order. */
const serve = Effect.fnUntraced(function* (command: ServerCommand, stopped: Effect.Effect<string>) {
  const {
    audit: _audit,
    auditKeep: _keep,
    auditMaxBytes: _maxBytes,
    drainTime,
    limits,
    redis,
    redisPrefix: prefix,
    requireRole,
    ...socketIo
  } = command
  const tls = yield* tlsOf(command)
  const authenticator = yield* authenticationOf(command, tls !== undefined)
  const layer = serverLayer({
    ...socketIo,
    limits,
    settings: { requireRole, drainTime },
    ...(Option.isSome(redis) && { redis: { url: redis.value, prefix } }),
    ...(tls !== undefined && { tls }),
    ...(authenticator !== undefined && { authenticator })
  })
  const { url } = Context.get(yield* Layer.build(Layer.provide(layer, auditLayer(command))), Server)
  yield* Console.log(`listening on ${url}`)
  yield* Effect.logInfo("told to stop", { signal: yield* stopped })
}, Effect.scoped)

/** Runs a Server until it is told to stop; says where on stdout as soon as members can connect. */
export const runServer = (command: ServerCommand) =>
  Effect.gen(function* () {
    tuneForRelay()
    yield* serve(command, yield* stopSignal)
    yield* Effect.logInfo("stopped: nobody listens any more")
  }).pipe(Effect.scoped, Effect.mapError(failed))
