import { Effect, Layer } from "effect"
import type { TransportServer } from "../../application/ports/Transport.ts"
import { noMetrics, ServerMetrics } from "../../application/server/observability/ServerMetrics.ts"
import { SharedPort } from "../http/SharedPort.ts"
import { makeTlsServer, type TlsOptions } from "../http/tlsServer.ts"
import { listenOnSocket } from "../http/unixSocket.ts"
import {
  closeLinksWithScope,
  makeConnectionContext,
  type MessageOptions,
  type ServeArguments,
  transportServerLayer
} from "./connection/ConnectionContext.ts"
import type { KeepaliveOptions } from "./connection/engineOptions.ts"
import { maxConfigurableMessageBytes } from "./limits.ts"
import { RelayEngine } from "./relay/RelayEngine.ts"
import {
  listenOnHost,
  makeRequestCheck,
  memberUpgrades,
  type RequestFallback,
  type RouteOptions,
  routeOwnRequests
} from "./routeRequests.ts"

/** Options of a Server with an own listener. */
export interface RelayServerOptions extends MessageOptions, RouteOptions, KeepaliveOptions {
  readonly host?: string
  /** 0, the default, picks a free port. */
  readonly port?: number
  /** Serves TLS only; plain HTTP by default. */
  readonly tls?: TlsOptions
  readonly fallback?: RequestFallback
}

/** Serves Socket.IO with an engine that forwards bodies as the bytes that arrived (spec §1, §2). */
export const layer = (options: RelayServerOptions = {}): Layer.Layer<TransportServer, never, ServerMetrics> =>
  transportServerLayer((...given) => serve(options, ...given))

/** Serves Socket.IO on a Unix socket in a private folder, to processes of the same user. */
export const layerOnSocket = (socketPath: string): Layer.Layer<TransportServer> =>
  transportServerLayer((...given) =>
    serve({ socketPath, maxMessageBytes: maxConfigurableMessageBytes }, ...given)
  ).pipe(Layer.provide(Layer.succeed(ServerMetrics, noMetrics)))

/** Options of a Server for processes of the same user. */
interface ServeOptions extends RelayServerOptions {
  /** Unix socket instead of host and port. */
  readonly socketPath?: string
}

const serve = Effect.fnUntraced(function* (options: ServeOptions, ...given: ServeArguments) {
  const check = yield* makeRequestCheck(options)
  const context = yield* makeConnectionContext(options, ...given)
  const http = yield* makeTlsServer(options.tls, memberUpgrades(options))
  const sharing = yield* SharedPort
  const engine = new RelayEngine(options, context, sharing?.sessionPrefix)
  routeOwnRequests(http, engine, check, { ...options, sharing })
  yield* closeLinksWithScope(context, () => {
    engine.close()
    http.closeAllConnections()
  })
  if (options.socketPath !== undefined) {
    yield* listenOnSocket(http, options.socketPath)
    return { url: `unix:${options.socketPath}` }
  }
  return yield* sharing?.listen(http) ?? listenOnHost(http, options)
})
