import { randomUUID } from "node:crypto"
import { createServer, type Server, type Socket } from "node:net"
import * as tls from "node:tls"
import { Cause, Effect, Exit, FiberSet, Option, Result, Scope } from "effect"
import {
  ServedLines,
  versionsOf,
  AdmissionRejected,
  ListenError,
  type TransportServer
} from "../../../application/ports/Transport.ts"
import { asObject, asString } from "../../../domain/json.ts"
import { versionGate } from "../../../domain/wire/version.ts"
import { admissionFailed, closeLink, type MessageLinkContext } from "../../bytes/MessageLink.ts"
import { cannot, listen } from "../../http/httpServer.ts"
import { listenOnSocket } from "../../http/unixSocket.ts"
import { formatAddress } from "../TcpLink.ts"
import { decodeControl, decodeFrame, frameKinds } from "./frames.ts"
import { openTimeout, connectionOptions, type TcpAddress, TcpConnection, tlsOptions } from "./TcpConnection.ts"
import { TcpMessageLink } from "./TcpMessageLink.ts"

/** Connections in all, and those that have sent no credentials. */
const maxConnections = 1024
const maxUnknown = 64

/** Where a server listens, at port 0 on a free one, and the largest body that a member may send, in bytes. */
type TcpServerOptions = TcpAddress & { readonly maxMessageBytes: number }

type Serve = TransportServer["Service"]["serve"]
type Accept = Parameters<Serve>[0]

interface ServerContext extends MessageLinkContext {
  readonly accept: Accept
  readonly versions: Parameters<typeof versionGate>[1]
  readonly maxMessageBytes: number
  readonly run: (effect: Effect.Effect<void>) => void
  /** Connections without credentials. */
  readonly unknown: Set<Socket>
  /** The links of the server, and the functions that close their connections. */
  readonly links: Map<TcpMessageLink, (reason: string) => void>
}

const acceptConnection = (context: ServerContext, socket: Socket): void => {
  const { accept, links, maxMessageBytes, run, unknown, versions } = context
  const remoteAddress = formatAddress(socket.remoteAddress ?? "")
  let link: TcpMessageLink | undefined
  let isAdmitted = false
  const timer = setTimeout(() => connection.destroy("join_timeout"), openTimeout)
  const stopWaiting = () => {
    clearTimeout(timer)
    unknown.delete(socket)
  }
  unknown.add(socket)

  const reject = ({ code, message, reason, retryable }: AdmissionRejected) => {
    connection.control(frameKinds.reject, { code, message, reason, retryable })
    connection.end("admission_rejected")
  }
  const admit = (received: unknown) => {
    const { auth, version } = asObject(received)
    const gated = versionGate([asString(version) ?? ""], versions)
    if (Result.isFailure(gated)) return reject(new AdmissionRejected(gated.failure.body))
    const opened = new TcpMessageLink(randomUUID(), connection, Number.POSITIVE_INFINITY, context)
    link = opened
    links.set(opened, (reason) => connection.end(reason))
    const handshake = { version: gated.success, auth, headers: {}, remoteAddress }
    return opened.run(Scope.provide(accept(opened, handshake), opened.scope), (exit) => {
      if (!links.has(opened)) return
      if (Exit.isSuccess(exit)) {
        isAdmitted = true
        connection.liftLimit()
        connection.control(frameKinds.accept, { id: opened.id, maxBytes: maxMessageBytes })
        opened.startReceiving(exit.value)
        return
      }
      const error = Cause.findErrorOption(exit.cause)
      run(
        Effect.gen(function* () {
          if (Option.isNone(error)) yield* Effect.logError("admission failed", { sid: opened.id }, exit.cause)
          yield* closeLink(context, opened, "admission_rejected")
          reject(Option.getOrElse(error, () => admissionFailed))
        })
      )
    })
  }
  const connection = new TcpConnection(socket, {
    onFrame: (frame) => {
      if (link === undefined) {
        if (frame[0] !== frameKinds.connect) return false
        stopWaiting()
        admit(decodeControl(frame))
        return true
      }
      if (frame[0] === frameKinds.close) {
        run(closeLink(context, link, "client_disconnect"))
        connection.end("client_disconnect")
        return true
      }
      const message = isAdmitted ? decodeFrame(frame) : undefined
      return message !== undefined && link.onPacket(message) === "accepted"
    },
    onClose: (reason) => {
      stopWaiting()
      if (link !== undefined) run(closeLink(context, link, reason))
    }
  })
}

const makeListener = (key: Buffer | undefined, onSocket: (socket: Socket) => void): Server => {
  if (key === undefined) return createServer(connectionOptions, onSocket)
  const server = tls.createServer(
    { ...connectionOptions, ...tlsOptions, handshakeTimeout: openTimeout, pskCallback: () => key },
    onSocket
  )
  // The close of a connection reports its failure to the other end.
  return server.on("tlsClientError", () => undefined)
}

/** Listens for members over TCP. `serve` accepts them, as {@link TransportServer} does. */
export const listenTcp = Effect.fnUntraced(function* ({ host, key, maxMessageBytes, port }: TcpServerOptions) {
  let context: ServerContext | undefined
  const unknown = new Set<Socket>()
  const server = makeListener(key, (socket) => {
    if (context !== undefined && unknown.size < maxUnknown) return acceptConnection(context, socket)
    socket.on("error", () => undefined)
    socket.destroy()
  })
  server.maxConnections = maxConnections
  yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
  const listening = host.startsWith("/")
    ? Effect.as(listenOnSocket(server, host), { port })
    : listen(server, { host, port }, cannot("listen", ListenError))
  const bound = yield* listening
  const serve: Serve = Effect.fnUntraced(function* (accept, onBacklogChange = () => undefined) {
    const links: ServerContext["links"] = new Map()
    const serving: ServerContext = {
      accept,
      versions: versionsOf(yield* ServedLines),
      maxMessageBytes,
      onBacklogChange,
      runFork: Effect.runForkWith(yield* Effect.context<never>()),
      run: yield* FiberSet.makeRuntime<never>(),
      unknown,
      links
    }
    context = serving
    yield* Effect.addFinalizer(() => {
      context = undefined
      for (const socket of unknown) socket.destroy()
      return Effect.forEach(
        [...links],
        ([link, close]) => Effect.map(closeLink(serving, link, "server_shutdown"), () => close("server_shutdown")),
        { concurrency: "unbounded", discard: true }
      )
    })
    return { url: `tcp://${host}:${bound.port}` }
  })
  return { port: bound.port, serve }
})
