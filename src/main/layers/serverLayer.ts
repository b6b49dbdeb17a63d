import { Context, Effect, Layer } from "effect"
import * as MemoryCluster from "../../adapters/memory/MemoryCluster.ts"
import { isLoopbackHost } from "../../adapters/http/hostAccess.ts"
import * as NodeDocuments from "../../adapters/dpe/NodeDocumentReader.ts"
import { makeMemoryLimits } from "../../adapters/process/memoryLimits.ts"
import * as ProcessMetrics from "../../adapters/process/ProcessMetrics.ts"
import type { RedisClusterOptions } from "../../adapters/redis/RedisCluster.ts"
import type { RedisUrlInvalid } from "../../adapters/redis/redisClient.ts"
import type { AuditLog } from "../../application/ports/AuditLog.ts"
import { Authenticator } from "../../application/ports/Authenticator.ts"
import type { OfficeRegistry } from "../../application/ports/OfficeRegistry.ts"
import { type ListenError, type NodeTransport, ServedLines } from "../../application/ports/Transport.ts"
import { Limits, ServerSettings } from "../../application/server/Limits.ts"
import { Server } from "../../application/server/lifecycle/Server.ts"
import { Observability } from "../../application/server/observability/Observability.ts"
import { OfficeWatch, type OfficeWatchOptions } from "../../application/server/watch/OfficeWatch.ts"
import { definedOnly } from "../../domain/objects.ts"
import { type LineName, linesNamed } from "../../domain/wire/lines.ts"
import { layerOverride } from "./layerOverride.ts"
import { type PageServing, transportLayer, type TransportOptions } from "./transportLayer.ts"

/** Options of the office page. */
export interface PageOptions extends OfficeWatchOptions, PageServing {}

/** Options of a Server; missing ones have their defaults. */
export interface ServerLayerOptions extends TransportOptions {
  /** The protocol lines that it serves; all by default. Members of different lines never meet. */
  readonly lines?: ReadonlyArray<LineName>
  readonly settings?: Partial<ServerSettings>
  /** The limits of all clients together are shares of the memory by default. */
  readonly limits?: Partial<Limits>
  /** Redis that shares the offices among Servers; without it the Server stands alone. */
  readonly redis?: RedisClusterOptions
  /** The page for operators at `/office`, which an own listener has by default; `false` serves none. */
  readonly page?: false | PageOptions
}

/** The cluster of a Server without Redis: that of itself, or of the workers of one command. */
export const LocalCluster = Context.Reference<Layer.Layer<OfficeRegistry | NodeTransport, ListenError>>(
  "a2c-smcp/main/layers/LocalCluster",
  { defaultValue: () => MemoryCluster.layer }
)

/** A single Server, or one of a cluster; loads the Redis adapter only for a cluster. */
const clusterLayer = (redis: RedisClusterOptions | undefined) =>
  redis === undefined
    ? Layer.unwrap(LocalCluster)
    : Layer.unwrap(Effect.promise(async () => (await import("../../adapters/redis/RedisCluster.ts")).layer(redis)))

/**
 * Observes a Server with an own listener for its office page. The page reads documents at public addresses, and at those
 * in the network of the Server.
 */
const watchLayer = ({ host = "127.0.0.1", httpServer, io }: TransportOptions, page: false | PageOptions) =>
  page === false || httpServer !== undefined || io !== undefined
    ? Layer.empty
    : Layer.provide(
        OfficeWatch.layer(page),
        NodeDocuments.layer({ serverUrl: `http://${host.includes(":") ? `[${host}]` : host}` })
      )

/** Errors of starting a Server: the address is unavailable, or the URL of Redis is invalid. */
export type ServerStartFailed = ListenError | RedisUrlInvalid

/** The address that members reach, as far as known; a mounted office may not listen yet. */
const hostOf = ({ host = "127.0.0.1", httpServer, io }: TransportOptions): string => {
  if (httpServer === undefined && io === undefined) return host
  const address = (httpServer ?? io?.httpServer)?.address()
  return address != null && typeof address === "object" ? address.address : "unknown"
}

const warnWithoutCredentials = Effect.fnUntraced(function* (transport: TransportOptions) {
  const { requiresCredentials } = yield* Authenticator
  const host = hostOf(transport)
  if (requiresCredentials || isLoopbackHost(host)) return
  yield* Effect.logWarning("no authentication: every client has all rights", { host })
})

/**
 * A complete Server on Socket.IO; on loopback and a free port by default. `Authenticator.layerAllowAll` suits loopback
 * only. `AuditLog.layerNone` records nothing. Beside Socket.IO it serves `/healthz`, `/readyz`, `/metrics`, `/status` and `/office`. The last three require an
 * operator. With `httpServer` or `io` it is mounted on a server of the host, without these pages.
 */
export const serverLayer = ({
  limits = {},
  lines,
  page = {},
  redis,
  settings,
  ...transport
}: ServerLayerOptions = {}): Layer.Layer<Server, ServerStartFailed, Authenticator | AuditLog> =>
  Server.layer.pipe(
    Layer.provide(Layer.effectDiscard(warnWithoutCredentials(transport))),
    Layer.provide(transportLayer(transport, page === false ? {} : page)),
    Layer.provide(clusterLayer(redis)),
    Layer.provide(layerOverride(ServerSettings, settings)),
    Layer.provide(Layer.succeed(ServedLines, linesNamed(lines))),
    Layer.provide(layerOverride(Limits, { ...makeMemoryLimits(), ...definedOnly(limits) })),
    Layer.provide(watchLayer(transport, page)),
    // Several Servers of one process keep separate metrics.
    Layer.provide(Layer.provideMerge(ProcessMetrics.layer, Layer.fresh(Observability.layer)))
  )
