import type { IncomingMessage, ServerResponse } from "node:http"
import { Stream } from "node:stream"
import { Effect } from "effect"
import type { Socket as EngineSocket } from "engine.io"
import type { Namespace, Server as SocketIo, Socket } from "socket.io"
import { Emitter } from "@socket.io/component-emitter"
import type * as parser from "socket.io-parser"
import { AdmissionRejected, ListenError } from "../../../application/ports/Transport.ts"
import { closeLinksWithScope, type ConnectionContext } from "../connection/ConnectionContext.ts"
import { hasVersion, rejectRequest, rejectUpgrade } from "../gate.ts"
import { asEngineRequest, connectionIdOf, replaceParser } from "../internals.ts"
import type { RequestCheck } from "../routeRequests.ts"
import { StockConnection, toStockConnectError } from "./StockConnection.ts"

type Parser = Pick<typeof parser, "Decoder" | "Encoder">

/** Takes the data of one connection that belong to this package; `emit` passes a packet on to Socket.IO. */
type TakeData = (data: unknown, emit: (packet: parser.Packet) => void) => boolean

/**
 * A parser of Socket.IO that offers the data of each connection to a function first, and passes the rest to the parser
 * `base`. `open` is called for each new connection.
 */
const makeMemberParser = (base: Parser, open: () => TakeData): Parser => {
  class MemberDecoder extends Emitter<object, object, { readonly decoded: (packet: parser.Packet) => void }> {
    readonly #inner = new base.Decoder()
    readonly #takeData = open()
    readonly #emit = (packet: parser.Packet): void => void this.emitReserved("decoded", packet)

    constructor() {
      super()
      this.#inner.on("decoded", this.#emit)
    }

    add(data: unknown): void {
      if (!this.#takeData(data, this.#emit)) this.#inner.add(data)
    }

    destroy(): void {
      this.#inner.destroy()
    }
  }
  return { Encoder: base.Encoder, Decoder: MemberDecoder as unknown as Parser["Decoder"] }
}

type Middleware = Parameters<Namespace["use"]>[0]

/** The office that a namespace serves now. Socket.IO cannot remove a middleware, so each namespace has one. */
interface Mount {
  admit: Middleware | undefined
}

const mounts = new WeakMap<Namespace, Mount>()

const unavailable = toStockConnectError(
  new AdmissionRejected({ code: 503, message: "No office is mounted here", reason: "unavailable" })
)

const mountOf = (namespace: Namespace): Mount => {
  const known = mounts.get(namespace)
  if (known !== undefined) return known
  const mount: Mount = { admit: undefined }
  mounts.set(namespace, mount)
  namespace.use((socket, next) => (mount.admit === undefined ? next(unavailable) : mount.admit(socket, next)))
  // A recovered session skips the middleware, and would be a member without an admission.
  namespace.on("connection", (socket) => {
    if (socket.recovered) socket.disconnect(true)
  })
  return mount
}

/** Serves a namespace of a Socket.IO server until the scope closes; `closeServer` closes a server that is no host's. */
export const mountOffice = Effect.fnUntraced(function* (
  io: SocketIo,
  context: ConnectionContext,
  check: RequestCheck,
  closeServer: () => void
) {
  const { engine } = io
  const connections = new Map<string, StockConnection>()
  const byEngineSocket = new WeakMap<object, StockConnection>()
  let isOpen = true
  let opened: StockConnection | undefined

  const onConnection = (engineSocket: EngineSocket) => {
    const id = connectionIdOf(engineSocket)
    const connection = new StockConnection(engineSocket, context)
    connections.set(id, connection)
    byEngineSocket.set(engineSocket, connection)
    engineSocket.once("close", () => connections.delete(id))
    // Socket.IO makes the decoder of the connection next.
    opened = connection
    context.limitConnections(connections.size)
  }

  const admit: Middleware = (socket: Socket, next) => {
    const rejection = check(socket.request)
    if (rejection !== undefined) return next(toStockConnectError(new AdmissionRejected(rejection.body)))
    const connection = byEngineSocket.get(socket.conn)
    return connection === undefined ? next(unavailable) : connection.admitSocket(socket, next)
  }

  const onRequest = (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    if (!isOpen) return next()
    // Engine.IO gives upgrades a substitute, which is no stream. Their header proves nothing: it may offer another protocol.
    const isUpgrade = !(response instanceof Stream)
    const { _query: query } = asEngineRequest(request)
    // JSONP would hide how many packets a payload has; no current client uses it.
    if (context.isExclusive) delete query["j"]
    const sid = query["sid"]
    const connection = sid === undefined ? undefined : connections.get(sid)
    if (connection !== undefined && !isUpgrade) connection.trackRequest(request, response)
    const rejection = !context.isExclusive && hasVersion(request) ? check(request) : undefined
    if (rejection === undefined) return next()
    return isUpgrade ? rejectUpgrade(request.socket, rejection) : rejectRequest(response, rejection)
  }

  const mount = mountOf(io.of(context.namespace))
  if (mount.admit !== undefined) {
    return yield* new ListenError({
      message: `The Socket.IO server has an office at the namespace ${context.namespace}`
    })
  }
  mount.admit = admit
  engine.prependListener("connection", onConnection)
  engine.use(onRequest)
  const restoreParser = replaceParser(io, (base) =>
    makeMemberParser(base, () => {
      const connection = opened
      opened = undefined
      return connection === undefined ? () => false : (data, emit) => connection.takeData(data, emit)
    })
  )
  yield* closeLinksWithScope(context, () => {
    isOpen = false
    mount.admit = undefined
    engine.off("connection", onConnection)
    restoreParser()
    if (context.isExclusive) closeServer()
    else for (const connection of connections.values()) connection.closeMember()
  })
})
