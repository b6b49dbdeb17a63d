import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { Cause, Effect, Exit, FiberSet, Layer, Option, Result, Scope } from "effect"
import type { Socket as Connection } from "engine.io"
import {
  AdmissionRefused,
  type Handshake,
  ListenFailed,
  TransportServer
} from "../../application/ports/Transport.ts"
import { Limits } from "../../application/server/Limits.ts"
import { Tally } from "../../application/server/Tally.ts"
import { parseVersion, PROTOCOL_VERSION, versionParameter } from "../../domain/protocol/version.ts"
import { codes } from "../../domain/refusal.ts"
import { listen } from "../node/network.ts"
import { Engine } from "./Engine.ts"
import { isFor, type Rejection, rejectionOf, rejectRequest, rejectUpgrade, urlOf } from "./gate.ts"
import {
  defaultMaxMessageBytes,
  defaultPath,
  defaultPingInterval,
  defaultPingTimeout,
  defaultValidateBytes
} from "./limits.ts"
import { type Door, ServerConnection } from "./ServerConnection.ts"
import type { ServerSocket } from "./ServerSocket.ts"
import { makeHttpServer, type TlsOptions } from "./tls.ts"

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
  readonly pages?: (request: IncomingMessage, response: ServerResponse) => boolean
}

/**
 * Connections beyond their limit that may still ask to be let in, so that they can be told that there is no room. When
 * more come, whoever has waited longest goes: honest members ask as soon as they are connected.
 */
const mostToldSo = 256

/** How long connections may stay when the Server closes, in milliseconds: longer than each of them has to agree. */
const lastCall = 2000

type Accept = Parameters<TransportServer["Service"]["serve"]>[0]

const notFound: Rejection = { status: 404, headers: {}, body: { code: 404, message: "Not found" } }

const spellUrl = (scheme: "http" | "https", { address, family, port }: AddressInfo): string =>
  `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${port}`

const broken = new AdmissionRefused({ code: codes.internal, message: "Internal error" })

const handshakeOf = (connection: Connection, auth: unknown): Handshake => {
  const { request } = connection
  return {
    version: Result.getOrThrow(parseVersion(urlOf(request)?.searchParams.get(versionParameter) ?? "")),
    auth,
    headers: request.headers,
    remote: connection.remoteAddress
  }
}

/** Serves Socket.IO on an HTTP server of its own (spec §1, §2). */
export const layer = (options: SocketIoServerOptions = {}): Layer.Layer<TransportServer> =>
  Layer.succeed(TransportServer, TransportServer.of({ serve: (accept) => serve(options, accept) }))

const serve = Effect.fnUntraced(function* (
  options: SocketIoServerOptions,
  accept: Accept
): Effect.fn.Return<{ readonly url: string }, ListenFailed, Scope.Scope> {
  const {
    allowedOrigins = [],
    host = "127.0.0.1",
    maxMessageBytes = defaultMaxMessageBytes,
    pages = () => false,
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
  const links = new Map<ServerSocket, Scope.Closeable>()
  const run = yield* FiberSet.makeRuntime<never>()
  const { gauge, refused, turnedAway } = yield* Tally
  const { connections: mostConnections } = yield* Limits

  const http = yield* makeHttpServer(tls)
  // Node ends only what has spoken HTTP, and waits for everything.
  const sockets = new Set<Socket>()
  http.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  const engine = new Engine({
    maxMessageBytes,
    allowedOrigins,
    pingInterval,
    pingTimeout
  })

  /** Why a request does not reach Socket.IO, if it does not; who came for Socket.IO is counted. */
  const rejectionFor = (request: IncomingMessage): Rejection | undefined => {
    if (!isFor(path, request)) return notFound
    const rejection = rejectionOf(request, serverVersion, allowedOrigins)
    if (rejection !== undefined) turnedAway(rejection.status)
    return rejection
  }
  http.on("request", (request, response) => {
    const rejection = rejectionFor(request)
    if (rejection === notFound && pages(request, response)) return
    if (rejection === undefined)
      engine.handleRequest(request as Parameters<Engine["handleRequest"]>[0], response)
    else rejectRequest(response, rejection)
  })
  http.on("upgrade", (request: IncomingMessage, socket, head) => {
    const rejection = rejectionFor(request)
    if (rejection === undefined) {
      engine.handleUpgrade(request as Parameters<Engine["handleUpgrade"]>[0], socket, head)
    } else rejectUpgrade(socket, rejection)
  })

  /** Ends a session. Its scope closes when the member is gone, whatever happens first. */
  const end = (socket: ServerSocket, reason: string) =>
    Effect.suspend(() => {
      const scope = links.get(socket)
      links.delete(socket)
      const lost = socket.lose(reason)
      return scope === undefined ? lost : Effect.andThen(lost, Scope.close(scope, Exit.void))
    })

  /** Lets one member in, or says why not. */
  const admit = Effect.fnUntraced(function* (
    connection: ServerConnection,
    socket: ServerSocket,
    auth: unknown
  ) {
    const scope = yield* Scope.make()
    links.set(socket, scope)
    const accepting = Scope.provide(accept(socket, handshakeOf(connection.connection, auth)), scope)
    // Who has gone does not count any more, so nobody may go on looking at it.
    const gone = Effect.as(socket.closed, undefined)
    const receive = yield* Effect.onError(Effect.raceFirst(accepting, gone), () => end(socket, "refused"))
    // It may have gone while it was let in.
    if (receive === undefined || !links.has(socket)) return yield* Scope.close(scope, Exit.void)
    connection.welcome(socket)
    socket.open(receive)
  })

  const context = yield* Effect.context<never>()
  const door: Door = {
    run: Effect.runForkWith(context),
    limits: { maxMessageBytes, validateBytes: validate ? Number.POSITIVE_INFINITY : validateBytes },
    admit: (connection, socket, auth) => {
      run(
        Effect.catchCause(admit(connection, socket, auth), (cause) =>
          Option.match(Cause.findErrorOption(cause), {
            onSome: (refused) => Effect.sync(() => connection.refuse(socket, refused)),
            onNone: () =>
              Effect.andThen(
                Effect.logError("connection failed", cause),
                Effect.sync(() => connection.refuse(socket, broken))
              )
          })
        )
      )
    },
    gone: (socket, reason) => void run(end(socket, reason)),
    trust: (transport) => engine.trust(transport),
    strangers: new Set()
  }
  yield* gauge({
    name: "strangers",
    help: "Connections that have not asked to be let in",
    read: () => door.strangers.size
  })
  engine.on("connection", (connection: Connection) => {
    new ServerConnection(connection, door)
    if (engine.clientsCount <= mostConnections + mostToldSo) return
    const [longest] = door.strangers
    if (longest === undefined) return
    refused("connections")
    longest.turnAway()
  })

  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const open = [...links]
      yield* Effect.forEach(open, ([socket]) => socket.lose("Server shut down"), { discard: true })
      engine.close()
      http.closeAllConnections()
      yield* Effect.forEach(open, ([socket]) => end(socket, "Server shut down"), { discard: true })
      yield* Effect.callback<void>((resume) => {
        const impatience = setTimeout(() => {
          for (const socket of sockets) socket.destroy()
        }, lastCall)
        http.close(() => {
          clearTimeout(impatience)
          resume(Effect.void)
        })
      })
    })
  )
  const address = yield* listen(
    http,
    { host, port },
    (why) => new ListenFailed({ message: `Cannot listen on ${host}:${port}: ${why}` })
  )
  return { url: spellUrl(tls === undefined ? "http" : "https", address) }
})
