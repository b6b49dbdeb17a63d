import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Cause, Effect, Exit, FiberSet, Layer, Option, Result, Scope } from "effect"
import { Server as Engine } from "engine.io"
import { type Socket, Server as SocketIo } from "socket.io"
import { WebSocketServer } from "ws"
import { type Handshake, ListenFailed, TransportServer } from "../../application/ports/Transport.ts"
import { Tally } from "../../application/server/Tally.ts"
import { parseVersion, PROTOCOL_VERSION, versionParameter } from "../../domain/protocol/version.ts"
import { codes } from "../../domain/refusal.ts"
import { listen } from "../node/network.ts"
import { isFor, type Rejection, rejectionOf, rejectRequest, rejectUpgrade } from "./gate.ts"
import { defaultMaxMessageBytes, defaultPath, namespace } from "./limits.ts"
import { decoderFor, Encoder, envelopeBytes } from "./parser.ts"
import { makeSocketLink, type SocketLink } from "./SocketLink.ts"

/** What an operator may set about the Socket.IO server. */
export interface SocketIoServerOptions {
  readonly host?: string
  /** 0 picks a free port. */
  readonly port?: number
  /** HTTP path of Socket.IO. */
  readonly path?: string
  /** A larger message is answered with 413; one of more than twice the size costs its sender the connection. */
  readonly maxMessageBytes?: number
  /** Origins whose pages may connect; `*` is any. Programs that are no browser need no entry. */
  readonly allowedOrigins?: ReadonlyArray<string>
  /** The protocol version this Server speaks. */
  readonly version?: string
  /** How often a silent peer is asked for a sign of life, and how long it has to give one, in milliseconds. */
  readonly pingInterval?: number
  readonly pingTimeout?: number
  /** Answers requests that are not for Socket.IO, and says whether it does; what it leaves is not found. */
  readonly pages?: (request: IncomingMessage, response: ServerResponse) => boolean
}

type Accept = Parameters<TransportServer["Service"]["serve"]>[0]

const notFound: Rejection = { status: 404, headers: {}, body: { code: 404, message: "Not found" } }

/** An engine that still reads messages somewhat over the limit, so that their senders can be told. */
const makeEngine = (options: SocketIoServerOptions, maxMessageBytes: number): Engine => {
  const cutOff = 2 * maxMessageBytes + envelopeBytes
  const roomy = class extends WebSocketServer {
    constructor(given: ConstructorParameters<typeof WebSocketServer>[0]) {
      super({ ...given, maxPayload: cutOff })
    }
  }
  const { allowedOrigins = [] } = options
  const engine = new Engine({
    maxHttpBufferSize: maxMessageBytes,
    wsEngine: roomy,
    pingInterval: options.pingInterval ?? 25_000,
    pingTimeout: options.pingTimeout ?? 20_000,
    ...(allowedOrigins.length > 0 && {
      cors: { origin: allowedOrigins.includes("*") ? true : [...allowedOrigins] }
    })
  })
  engine.on("connection", ({ transport }: { transport: { name: string; maxHttpBufferSize?: number } }) => {
    if (transport.name === "polling") transport.maxHttpBufferSize = cutOff
  })
  return engine
}

const spellUrl = ({ address, family, port }: AddressInfo): string =>
  `http://${family === "IPv6" ? `[${address}]` : address}:${port}`

/** The error by which Socket.IO tells a client why its namespace was refused (spec §2.5). */
const refusalError = (code: number, message: string): Error =>
  Object.assign(new Error(message), { data: { code, message } })

const handshakeOf = (socket: Socket): Handshake => {
  const { address, auth, headers, query } = socket.handshake
  const version = query[versionParameter]
  return {
    version: Result.getOrThrow(parseVersion(typeof version === "string" ? version : "")),
    auth,
    headers,
    remote: address
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
    port = 0,
    version = PROTOCOL_VERSION
  } = options
  const serverVersion = yield* Effect.orDie(Effect.fromResult(parseVersion(version)))
  const links = new Set<SocketLink & { readonly scope: Scope.Closeable }>()
  const run = yield* FiberSet.makeRuntime<never>()
  const { turnedAway } = yield* Tally

  const http = createServer()
  const engine = makeEngine(options, maxMessageBytes)
  const io = new SocketIo({ parser: { Encoder, Decoder: decoderFor(maxMessageBytes) }, serveClient: false })
  io.bind(engine)

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

  /** Lets one socket in, or says why not. Its scope closes when the socket is gone, whatever happens first. */
  const admit = Effect.fnUntraced(function* (socket: Socket) {
    const scope = yield* Scope.make()
    const made = yield* Scope.provide(
      makeSocketLink(
        socket.id,
        socket,
        () => Number.POSITIVE_INFINITY,
        () => 0
      ),
      scope
    )
    const entry = { ...made, scope }
    links.add(entry)
    const end = (reason: string) =>
      Effect.suspend(() => {
        links.delete(entry)
        return Effect.andThen(made.lose(reason), Scope.close(scope, Exit.void))
      })
    const receive = yield* Effect.onError(Scope.provide(accept(made.link, handshakeOf(socket)), scope), () =>
      end("refused")
    )
    const gone = (reason: string) => void run(end(reason))
    socket.on("disconnect", gone)
    socket.conn.once("close", gone)
    if (socket.conn.readyState !== "open") return yield* end("closed while connecting")
    made.open(receive)
  })

  io.of(namespace).use((socket, next) => {
    run(
      Effect.matchCauseEffect(admit(socket), {
        onSuccess: () => Effect.sync(() => next()),
        onFailure: (cause) =>
          Option.match(Cause.findErrorOption(cause), {
            onSome: ({ code, message }) => Effect.sync(() => next(refusalError(code, message))),
            onNone: () =>
              Effect.andThen(
                Effect.logError("connection failed", cause),
                Effect.sync(() => next(refusalError(codes.internal, "Internal error")))
              )
          })
      })
    )
  })

  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const open = [...links]
      yield* Effect.forEach(open, ({ lose }) => lose("Server shut down"), { discard: true })
      yield* Effect.promise(() => io.close())
      http.closeAllConnections()
      yield* Effect.forEach(open, ({ scope }) => Scope.close(scope, Exit.void), { discard: true })
      yield* Effect.callback<void>((resume) => {
        http.close(() => resume(Effect.void))
      })
    })
  )
  const address = yield* listen(
    http,
    { host, port },
    (why) => new ListenFailed({ message: `Cannot listen on ${host}:${port}: ${why}` })
  )
  return { url: spellUrl(address) }
})
