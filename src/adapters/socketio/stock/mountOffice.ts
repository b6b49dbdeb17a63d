import type { IncomingMessage, ServerResponse } from "node:http"
import { Stream } from "node:stream"
import { Effect } from "effect"
import type { Socket as EngineSocket } from "engine.io"
import type { Namespace, Server as SocketIo, Socket } from "socket.io"
import { AdmissionRejected, ListenError } from "../../../application/ports/Transport.ts"
import { closeLinksWithScope, type ConnectionContext } from "../connection/ConnectionContext.ts"
import { type GateRejection, hasVersion, rejectRequest, rejectUpgrade, requestUrl } from "../gate.ts"
import { engineErrors } from "../engineErrors.ts"
import type { RequestCheck } from "../routeRequests.ts"
import { StockConnection, toStockConnectError } from "./StockConnection.ts"

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

/** The id of a connection, which its requests have in their query. Its type says private, its documentation does not. */
const idOf = (socket: EngineSocket): string => (socket as unknown as { readonly id: string }).id

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

  const onConnection = (engineSocket: EngineSocket) => {
    const id = idOf(engineSocket)
    const connection = new StockConnection(engineSocket, context)
    connections.set(id, connection)
    byEngineSocket.set(engineSocket, connection)
    engineSocket.once("close", () => connections.delete(id))
    context.limitConnections(connections.size)
  }

  const admit: Middleware = (socket: Socket, next) => {
    const rejection = check(socket.request)
    if (rejection !== undefined) return next(toStockConnectError(new AdmissionRejected(rejection.body)))
    const connection = byEngineSocket.get(socket.conn)
    return connection === undefined ? next(unavailable) : connection.admitSocket(socket, next)
  }

  const rejectionOf = (request: IncomingMessage, isJsonp: boolean): GateRejection | undefined => {
    // JSONP would hide how many packets a payload has; no current client uses it.
    if (context.isExclusive) return isJsonp ? engineErrors.badRequest : undefined
    return hasVersion(request) ? check(request) : undefined
  }

  const onRequest = (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    if (!isOpen) return next()
    // Engine.IO gives upgrades a substitute, which is no stream. Their header proves nothing: it may offer another protocol.
    const isUpgrade = !(response instanceof Stream)
    const query = requestUrl(request)?.searchParams
    const connection = connections.get(query?.getAll("sid").at(-1) ?? "")
    const rejection = rejectionOf(request, query?.has("j") ?? false)
    if (rejection !== undefined) {
      return isUpgrade ? rejectUpgrade(request.socket, rejection) : rejectRequest(response, rejection)
    }
    if (!isUpgrade) connection?.traffic.trackRequest(request, response)
    else if (connection?.canUpgrade === true) connection.traffic.trackUpgrade(request.socket)
    return next()
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
  yield* closeLinksWithScope(context, () => {
    isOpen = false
    mount.admit = undefined
    engine.off("connection", onConnection)
    if (context.isExclusive) closeServer()
    else for (const connection of connections.values()) connection.closeMember()
  })
})
