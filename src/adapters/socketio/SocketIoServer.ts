import type { Server as HttpServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Layer } from "effect"
import { Server as SocketIo } from "socket.io"
import { ListenError, type TransportServer } from "../../application/ports/Transport.ts"
import type { ServerMetrics } from "../../application/server/observability/ServerMetrics.ts"
import { listeningUrl } from "../http/httpServer.ts"
import { makeTlsServer } from "../http/tlsServer.ts"
import { makeConnectionContext, type ServeArguments, transportServerLayer } from "./connection/ConnectionContext.ts"
import { defaultPath } from "./limits.ts"
import type { RelayServerOptions } from "./RelayServer.ts"
import {
  listenOnHost,
  makeRequestCheck,
  memberUpgrades,
  routeOwnRequests,
  routeSharedRequests
} from "./routeRequests.ts"
import { makeEngine } from "./stock/makeEngine.ts"
import { mountOffice } from "./stock/mountOffice.ts"

/** Options of a Server with an own listener, or on a server of the host: give `httpServer` or `io`, or none. */
export interface SocketIoServerOptions extends RelayServerOptions {
  /**
   * Serves on this HTTP server, which the host opens and closes. Its listeners get the requests outside of `paths`. `host`,
   * `port`, `tls` and `fallback` have no effect.
   */
  readonly httpServer?: HttpServer
  /**
   * Serves a namespace of this Socket.IO server, which the host opens and closes. Its options for path, origins, keepalive
   * and message size apply; it must use the default parser.
   */
  readonly io?: SocketIo
}

/** Serves a namespace of Socket.IO with the `socket.io` package (spec §1, §2). */
export const layer = (options: SocketIoServerOptions = {}): Layer.Layer<TransportServer, never, ServerMetrics> =>
  transportServerLayer((...given) => serve(options, ...given))

/** The URL of an HTTP server; empty while it does not listen. */
const urlOf = (http: HttpServer, path: string): string => {
  const address: AddressInfo | string | null = http.address()
  if (address === null || typeof address === "string") return ""
  const base = listeningUrl("setSecureContext" in http ? "https" : "http", address)
  return path === defaultPath ? base : `${base}${path}`
}

const serve = Effect.fnUntraced(function* (options: SocketIoServerOptions, ...given: ServeArguments) {
  const { httpServer, io: hostIo, paths, tls } = options
  const check = yield* makeRequestCheck(options)
  const context = yield* makeConnectionContext({ ...options, isExclusive: hostIo === undefined }, ...given)
  if (hostIo !== undefined) {
    if (hostIo.engine === undefined) {
      return yield* new ListenError({ message: "Attach the Socket.IO server to an HTTP server before the office" })
    }
    yield* mountOffice(hostIo, context, check, () => undefined)
    return { url: urlOf(hostIo.httpServer as HttpServer, hostIo.path()) }
  }
  const engine = makeEngine(options)
  const io = new SocketIo({ serveClient: false }).bind(engine)
  const closeServer = () => void io.close()
  if (httpServer !== undefined) {
    const restore = routeSharedRequests(httpServer, engine, check, options)
    yield* Effect.addFinalizer(() => Effect.sync(restore))
    yield* mountOffice(io, context, check, closeServer)
    return { url: urlOf(httpServer, paths?.[0] ?? defaultPath) }
  }
  const http = yield* makeTlsServer(tls, memberUpgrades(options))
  routeOwnRequests(http, engine, check, options)
  yield* mountOffice(io, context, check, () => {
    closeServer()
    http.closeAllConnections()
  })
  return yield* listenOnHost(http, options)
})
