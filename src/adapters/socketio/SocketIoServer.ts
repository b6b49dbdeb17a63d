import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { Cause, Effect, Exit, FiberSet, Layer, Option, Result, Scope } from "effect"
import type { Socket as EngineSocket } from "engine.io"
import {
  AdmissionRejected,
  type Handshake,
  ListenError,
  TransportServer
} from "../../application/ports/Transport.ts"
import { Limits } from "../../application/server/connections/Limits.ts"
import { ServerMetrics } from "../../application/server/observability/ServerMetrics.ts"
import { parseVersion, PROTOCOL_VERSION, versionQueryParameter } from "../../domain/wire/version.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { listen } from "../http/hostAccess.ts"
import { RelayEngine } from "./relay/RelayEngine.ts"
import {
  isSocketIoRequest,
  type Rejection,
  checkRequest,
  rejectRequest,
  rejectUpgrade,
  requestUrl
} from "./gate.ts"
import {
  defaultMaxMessageBytes,
  defaultPath,
  defaultPingInterval,
  defaultPingTimeout,
  defaultValidateBytes
} from "./limits.ts"
import { type ConnectionHandler, RelayConnection } from "./relay/RelayConnection.ts"
import type { RelayLink } from "./relay/RelayLink.ts"
import { makeHttpServer, type TlsOptions } from "./httpServer.ts"

/** What an operator may set about the Socket.IO server. */
export interface SocketIoServerOptions {
  readonly host?: string
  /** 0 picks a free port. */
  readonly port?: number
  /** HTTP path of Socket.IO. */
  readonly path?: string
  /** A larger message is answered with 413; one of more than twice the size costs its sender the connection. */
  readonly maxMessageBytes?: number
  /**
   * Bodies up to this size are read in full before they are passed on. Of larger ones no more is read than routing
   * needs, unless `validate` says so: whatever else they hold reaches the other members of the office as it came.
   */
  readonly validateBytes?: number
  readonly validate?: boolean
  /** Origins whose pages may connect; `*` is any. Programs that are no browser need no entry. */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** Speak TLS, and only that; plain HTTP without it. */
  readonly tls?: TlsOptions
  /** The protocol version this Server speaks. */
  readonly version?: string
  /**
   * How often a member is asked for a sign of life, and how long it has to give one, in milliseconds. A member takes the
   * Server for gone when it has heard nothing for as long as both together.
   */
  readonly pingInterval?: number
  readonly pingTimeout?: number
  /** Answers requests that are not for Socket.IO, and says whether it does; what it leaves is not found. */
  readonly fallback?: (request: IncomingMessage, response: ServerResponse) => boolean
}

/**
 * Connections beyond their limit that may still ask to be let in, so that they can be told that there is no room. When
 * more come, whoever has waited longest goes: honest members ask as soon as they are connected.
 */
const maxExcessConnections = 256

/** How long connections may stay when the Server closes, in milliseconds: longer than each of them has to agree. */
const closeTimeout = 2000

type Accept = Parameters<TransportServer["Service"]["serve"]>[0]

const notFound: Rejection = { status: 404, headers: {}, body: { code: 404, message: "Not found" } }

const formatUrl = (scheme: "http" | "https", { address, family, port }: AddressInfo): string =>
  `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`

const internalAdmissionError = new AdmissionRejected({
  code: errorCodes.internalError,
  message: "Internal error"
})

const makeHandshake = (engineSocket: EngineSocket, auth: unknown): Handshake => {
  const { request } = engineSocket
  return {
    version: Result.getOrThrow(
      parseVersion(requestUrl(request)?.searchParams.get(versionQueryParameter) ?? "")
    ),
    auth,
    headers: request.headers,
    remoteAddress: engineSocket.remoteAddress
  }
}

/** Serves Socket.IO on an HTTP server of its own (spec §1, §2). */
export const layer = (
  options: SocketIoServerOptions = {}
): Layer.Layer<TransportServer, never, ServerMetrics> =>
  Layer.effect(
    TransportServer,
    Effect.map(ServerMetrics, (metrics) =>
      TransportServer.of({ serve: (accept) => serve(options, metrics, accept) })
    )
  )

const serve = Effect.fnUntraced(function* (
  options: SocketIoServerOptions,
  { connectionRejected, gauge, limitExceeded }: ServerMetrics["Service"],
  accept: Accept
): Effect.fn.Return<{ readonly url: string }, ListenError, Scope.Scope> {
  const {
    allowedOrigins = [],
    host = "127.0.0.1",
    maxMessageBytes = defaultMaxMessageBytes,
    fallback = () => false,
    path = defaultPath,
    pingInterval = defaultPingInterval,
    pingTimeout = defaultPingTimeout,
    port = 0,
    tls,
    validate = false,
    validateBytes = defaultValidateBytes,
    version = PROTOCOL_VERSION
  } = options
  const serverVersion = yield* Effect.orDie(Effect.fromResult(parseVersion(version)))
  const links = new Map<RelayLink, Scope.Closeable>()
  const run = yield* FiberSet.makeRuntime<never>()
  const { connections: maxConnections } = yield* Limits

  const http = yield* makeHttpServer(tls)
  // Node ends only what has spoken HTTP, and waits for everything.
  const sockets = new Set<Socket>()
  http.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  const engine = new RelayEngine({
    maxMessageBytes,
    allowedOrigins,
    pingInterval,
    pingTimeout
  })

  /** Why a request does not reach Socket.IO, if it does not; who came for Socket.IO is counted. */
  const checkAndCountRequest = (request: IncomingMessage): Rejection | undefined => {
    if (!isSocketIoRequest(path, request)) return notFound
    const rejection = checkRequest(request, serverVersion, allowedOrigins)
    if (rejection !== undefined) connectionRejected(rejection.status)
    return rejection
  }
  http.on("request", (request, response) => {
    const rejection = checkAndCountRequest(request)
    if (rejection === notFound && fallback(request, response)) return
    if (rejection === undefined)
      engine.handleRequest(request as Parameters<RelayEngine["handleRequest"]>[0], response)
    else rejectRequest(response, rejection)
  })
  http.on("upgrade", (request: IncomingMessage, socket, head) => {
    const rejection = checkAndCountRequest(request)
    if (rejection === undefined) {
      engine.handleUpgrade(request as Parameters<RelayEngine["handleUpgrade"]>[0], socket, head)
    } else rejectUpgrade(socket, rejection)
  })

  /** Ends a session. Its scope closes when the member is gone, whatever happens first. */
  const closeLink = (link: RelayLink, reason: string) =>
    Effect.suspend(() => {
      const scope = links.get(link)
      links.delete(link)
      const lost = link.markClosed(reason)
      return scope === undefined ? lost : Effect.andThen(lost, Scope.close(scope, Exit.void))
    })

  /** Lets one member in, or says why not. */
  const admit = Effect.fnUntraced(function* (connection: RelayConnection, link: RelayLink, auth: unknown) {
    const scope = yield* Scope.make()
    links.set(link, scope)
    const accepting = Scope.provide(accept(link, makeHandshake(connection.engineSocket, auth)), scope)
    // Who has gone does not count any more, so nobody may go on looking at it.
    const closed = Effect.as(link.closed, undefined)
    const onMessage = yield* Effect.onError(Effect.raceFirst(accepting, closed), () =>
      closeLink(link, "refused")
    )
    // It may have gone while it was let in.
    if (onMessage === undefined || !links.has(link)) return yield* Scope.close(scope, Exit.void)
    connection.accept(link)
    link.startReceiving(onMessage)
  })

  const context = yield* Effect.context<never>()
  const handler: ConnectionHandler = {
    runFork: Effect.runForkWith(context),
    limits: { maxMessageBytes, validateBytes: validate ? Number.POSITIVE_INFINITY : validateBytes },
    admit: (connection, link, auth) => {
      run(
        Effect.catchCause(admit(connection, link, auth), (cause) =>
          Option.match(Cause.findErrorOption(cause), {
            onSome: (error) => Effect.sync(() => connection.reject(link, error)),
            onNone: () =>
              Effect.andThen(
                Effect.logError("connection failed", cause),
                Effect.sync(() => connection.reject(link, internalAdmissionError))
              )
          })
        )
      )
    },
    onLinkClosed: (link, reason) => void run(closeLink(link, reason)),
    liftSizeLimit: (transport) => engine.liftSizeLimit(transport),
    unauthenticated: new Set()
  }
  yield* gauge({
    name: "unauthenticated_connections",
    read: () => handler.unauthenticated.size
  })
  engine.on("connection", (engineSocket: EngineSocket) => {
    new RelayConnection(engineSocket, handler)
    if (engine.clientsCount <= maxConnections + maxExcessConnections) return
    const [oldest] = handler.unauthenticated
    if (oldest === undefined) return
    limitExceeded("connections")
    oldest.closeUnauthenticated()
  })

  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const openLinks = [...links]
      yield* Effect.forEach(openLinks, ([link]) => link.markClosed("Server shut down"), { discard: true })
      engine.close()
      http.closeAllConnections()
      yield* Effect.forEach(openLinks, ([link]) => closeLink(link, "Server shut down"), { discard: true })
      yield* Effect.callback<void>((resume) => {
        const forceCloseTimer = setTimeout(() => {
          for (const socket of sockets) socket.destroy()
        }, closeTimeout)
        http.close(() => {
          clearTimeout(forceCloseTimer)
          resume(Effect.void)
        })
      })
    })
  )
  const address = yield* listen(
    http,
    { host, port },
    (reason) => new ListenError({ message: `Cannot listen on ${host}:${port}: ${reason}` })
  )
  return { url: formatUrl(tls === undefined ? "http" : "https", address) }
})
