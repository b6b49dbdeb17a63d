import { Effect, Layer } from "effect"
import { makeServerPages } from "../../adapters/http/ServerPages.ts"
import * as MemoryCluster from "../../adapters/memory/MemoryCluster.ts"
import { isLoopbackHost } from "../../adapters/http/hostAccess.ts"
import * as ProcessGauges from "../../adapters/process/ProcessMetrics.ts"
import type { RedisClusterOptions } from "../../adapters/redis/RedisCluster.ts"
import type { RedisUrlInvalid } from "../../adapters/redis/registry/ScriptRunner.ts"
import * as SocketIoServer from "../../adapters/socketio/SocketIoServer.ts"
import { allowAll, Authenticator } from "../../application/ports/Authenticator.ts"
import type { ListenError } from "../../application/ports/Transport.ts"
import { Limits } from "../../application/server/connections/Limits.ts"
import { Server } from "../../application/server/lifecycle/Server.ts"
import { ServerSettings } from "../../application/server/lifecycle/ServerSettings.ts"
import { Observability } from "../../application/server/observability/Observability.ts"

/** What a host decides about its Server; what is left out is as usual. */
export interface ServerLayerOptions extends SocketIoServer.SocketIoServerOptions {
  readonly settings?: Partial<ServerSettings>
  readonly limits?: Partial<Limits>
  /** Who finds out who connects; without one everybody may, which is right for loopback only. */
  readonly authenticator?: Authenticator["Service"]
  /** The Redis by which it shares its offices with other Servers; without one they are its own. */
  readonly redis?: RedisClusterOptions
}

/** Alone, or one of many; what only those need is not loaded before. */
const clusterLayer = (redis: RedisClusterOptions | undefined) =>
  redis === undefined
    ? MemoryCluster.layer
    : Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("../../adapters/redis/RedisCluster.ts")),
          (adapter) => adapter.layer(redis)
        )
      )

/** Why a Server does not start: nothing can listen there, or the address of Redis is none. */
export type ServerStartFailed = ListenError | RedisUrlInvalid

/** The listener of a Server: Socket.IO, and pages for those who operate it. */
const listenerLayer = (socketIo: SocketIoServer.SocketIoServerOptions, isLoopbackOnly: boolean) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const fallback = yield* makeServerPages({
        observability: yield* Observability,
        authenticator: yield* Authenticator,
        isLoopbackOnly
      })
      return SocketIoServer.layer({ fallback, ...socketIo })
    })
  )

/**
 * A whole Server on Socket.IO. Loopback and a free port unless told otherwise. Beside Socket.IO it answers `/healthz`,
 * `/readyz`, `/metrics` and `/status`; the last two ask the authenticator for an operator.
 */
export const serverLayer = ({
  authenticator = allowAll,
  limits,
  redis,
  settings,
  ...socketIo
}: ServerLayerOptions = {}): Layer.Layer<Server, ServerStartFailed> => {
  const { host = "127.0.0.1" } = socketIo
  const isLocal = isLoopbackHost(host)
  const warningLayer =
    !authenticator.requiresCredentials && !isLocal
      ? Layer.effectDiscard(Effect.logWarning("no authentication: every client has all rights", { host }))
      : Layer.empty
  return Server.layer.pipe(
    Layer.provide(warningLayer),
    Layer.provide(listenerLayer(socketIo, isLocal)),
    Layer.provide(clusterLayer(redis)),
    Layer.provide(Layer.succeed(Authenticator, authenticator)),
    Layer.provide(
      Layer.effect(
        ServerSettings,
        Effect.map(ServerSettings, (defaults) => ({ ...defaults, ...settings }))
      )
    ),
    Layer.provide(
      Layer.effect(
        Limits,
        Effect.map(Limits, (defaults) => ({ ...defaults, ...limits }))
      )
    ),
    // Every Server is seen by itself, whoever else runs in this process.
    Layer.provide(Layer.provideMerge(ProcessGauges.layer, Layer.fresh(Observability.layer)))
  )
}
