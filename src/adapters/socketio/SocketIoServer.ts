import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Effect, FiberSet, Layer } from "effect"
import type { Socket as EngineSocket } from "engine.io"
import * as webSockets from "ws"
import { ListenError, TransportServer } from "../../application/ports/Transport.ts"
import { makeBufferLimit } from "../../application/shared/BufferLimit.ts"
import { Limits } from "../../application/server/connections/Limits.ts"
import { type MembershipEvent, MembershipObservers } from "../../application/server/observability/observers.ts"
import { ServerMetrics } from "../../application/server/observability/ServerMetrics.ts"
import { parseVersion, PROTOCOL_VERSION, type Version } from "../../domain/wire/version.ts"
import { listen, serverUrl } from "../http/httpServer.ts"
import { makeTlsServer, type TlsOptions } from "../http/tlsServer.ts"
import { checkRequest, isSocketIoRequest, type Rejection, rejectRequest, rejectUpgrade } from "./gate.ts"
import { asEngineRequest, canSendFrames } from "./internals.ts"
import {
  defaultMaxMessageBytes,
  defaultPath,
  defaultPingInterval,
  defaultPingTimeout,
  defaultValidateBytes
} from "./limits.ts"
import { closeLink, RelayConnection, type RelayContext } from "./relay/RelayConnection.ts"
import { RelayEngine } from "./relay/RelayEngine.ts"

export interface SocketIoServerOptions {
  readonly host?: string
  /** 0, the default, picks a free port. */
  readonly port?: number
  /** HTTP path of Socket.IO. */
  readonly path?: string
  /** A larger message gets error 413; a message of more than twice the size closes the connection. */
  readonly maxMessageBytes?: number
  /** Bodies above this many bytes are forwarded with only the head parsed, unless `validate` is set. */
  readonly validateBytes?: number
  readonly validate?: boolean
  /** Origins of pages that may connect; `*` allows all. Other clients need no entry. */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** Serves TLS only; plain HTTP by default. */
  readonly tls?: TlsOptions
  readonly version?: string
  /** Keepalive interval and timeout in milliseconds. A member closes a connection without data for both together. */
  readonly pingInterval?: number
  readonly pingTimeout?: number
  /** Handles requests outside the path of Socket.IO; the Server answers 404 when it returns false. */
  readonly fallback?: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** Excess connections that may wait for an error. Above, the longest waiting one is closed: members connect at once. */
const maxExcessConnections = 256

/** Serves Socket.IO on an HTTP server (spec §1, §2). */
export const layer = (options: SocketIoServerOptions = {}): Layer.Layer<TransportServer, never, ServerMetrics> =>
  Layer.effect(
    TransportServer,
    Effect.map(ServerMetrics, (metrics) =>
      TransportServer.of({
        serve: (accept, onBacklogChange = () => undefined) => serve(options, metrics, accept, onBacklogChange)
      })
    )
  )

const notFound: Rejection = { status: 404, headers: {}, body: { code: 404, message: "Not found" } }

/** Passes the requests that the gate accepts to the engine, and those outside its path to `fallback`. */
const routeRequests = (
  http: Server,
  engine: RelayEngine,
  { allowedOrigins = [], fallback = () => false, path = defaultPath }: SocketIoServerOptions,
  version: Version,
  observers: ReadonlyArray<(event: MembershipEvent) => void>
): void => {
  const check = (request: IncomingMessage): Rejection | undefined => {
    if (!isSocketIoRequest(path, request)) return notFound
    const rejection = checkRequest(request, version, allowedOrigins)
    if (rejection === undefined) return undefined
    const remoteAddress = request.socket.remoteAddress ?? "unknown"
    const { code, message: reason } = rejection.body
    for (const observe of observers) observe({ _tag: "ConnectionRejected", remoteAddress, code, reason })
    return rejection
  }
  http.on("request", (request, response) => {
    const rejection = check(request)
    if (rejection === notFound && fallback(request, response)) return
    if (rejection === undefined) engine.handleRequest(asEngineRequest(request), response)
    else rejectRequest(response, rejection)
  })
  http.on("upgrade", (request, socket, head) => {
    const rejection = check(request)
    if (rejection === undefined) engine.handleUpgrade(asEngineRequest(request), socket, head)
    else rejectUpgrade(socket, rejection)
  })
}

const unsupportedRuntime =
  "This runtime replaces the package ws, which sends the frames of a Server: run the Server in Node or Deno"

const serve = Effect.fnUntraced(function* (
  options: SocketIoServerOptions,
  metrics: ServerMetrics["Service"],
  accept: RelayContext["accept"],
  onBacklogChange: RelayContext["onBacklogChange"]
) {
  if (!canSendFrames(webSockets)) return yield* new ListenError({ message: unsupportedRuntime })
  const { allowedOrigins = [], host = "127.0.0.1", port = 0, tls, validate = false } = options
  const { maxMessageBytes = defaultMaxMessageBytes, validateBytes = defaultValidateBytes } = options
  const { pingInterval = defaultPingInterval, pingTimeout = defaultPingTimeout } = options
  const version = yield* Effect.orDie(Effect.fromResult(parseVersion(options.version ?? PROTOCOL_VERSION)))
  const { connections: maxConnections, totalIncompleteBytes } = yield* Limits
  const observers = yield* MembershipObservers
  const unauthenticated = new Set<RelayConnection>()
  const context: RelayContext = {
    accept,
    onBacklogChange,
    incompleteMessages: yield* makeBufferLimit<RelayConnection>(totalIncompleteBytes, {
      heldBytes: (connection) => connection.incompleteBytes(),
      passedBytes: (connection) => connection.receivedBytes(),
      close: (connection, detail) => {
        metrics.limitExceeded("totalIncompleteBytes")
        connection.closeIncomplete(detail)
      }
    }),
    limits: { maxMessageBytes, validateBytes: validate ? Number.POSITIVE_INFINITY : validateBytes },
    run: yield* FiberSet.makeRuntime<never>(),
    runFork: Effect.runForkWith(yield* Effect.context<never>()),
    links: new Set(),
    unauthenticated
  }
  const http = yield* makeTlsServer(tls)
  const engine = new RelayEngine(maxMessageBytes, allowedOrigins, { pingInterval, pingTimeout })
  routeRequests(http, engine, options, version, observers)
  yield* metrics.gauge({ name: "unauthenticated_connections", read: () => unauthenticated.size })
  yield* metrics.gauge({ name: "incomplete_bytes", read: context.incompleteMessages.totalBytes })
  engine.on("connection", (engineSocket: EngineSocket) => {
    new RelayConnection(engineSocket, context)
    if (engine.clientsCount <= maxConnections + maxExcessConnections) return
    const [oldest] = unauthenticated
    if (oldest === undefined) return
    metrics.limitExceeded("connections")
    oldest.closeUnauthenticated()
  })
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const links = [...context.links]
      yield* Effect.forEach(links, (link) => link.markClosed("server_shutdown"), { discard: true })
      engine.close()
      http.closeAllConnections()
      yield* Effect.forEach(links, (link) => closeLink(context, link, "server_shutdown"), { discard: true })
    })
  )
  const address = yield* listen(
    http,
    { host, port },
    (reason) => new ListenError({ message: `Cannot listen on ${host}:${port}: ${reason}` })
  )
  return { url: serverUrl(tls === undefined ? "http" : "https", address) }
})
