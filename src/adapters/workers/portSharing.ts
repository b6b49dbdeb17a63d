import { type IncomingMessage, request as startRequest, type Server, type ServerResponse } from "node:http"
import { connect, Socket } from "node:net"
import { pipeline } from "node:stream"
import { text } from "node:stream/consumers"
import { TLSSocket } from "node:tls"
import { Array, Effect } from "effect"
import { asObject, asString, parseJson } from "../../domain/json.ts"
import { officeQueryParameter } from "../../domain/office/officeKey.ts"
import { makeHttpServer } from "../http/httpServer.ts"
import type { PortSharing } from "../http/SharedPort.ts"
import { httpTimeouts } from "../http/tlsServer.ts"
import { listenOnSocket } from "../http/unixSocket.ts"
import type { PrimaryChannel } from "./PrimaryChannel.ts"
import { requestSocket, type WorkerIdentity } from "./WorkerIdentity.ts"

/** The header by which a worker says from where a request came that it passes on. */
const originHeader = "x-a2c-passed-from"

const officePattern = new RegExp(`[?&]${officeQueryParameter}=([0-9a-f]{8})(?:&|$)`)

/** Time in which a worker answers another one; a busy one is left out. */
const askTimeout = "2 seconds"

/** Milliseconds that clients have to read the last bytes when this worker ends. */
const closeTimeout = 1000

/** Where the client of a request is, as the socket of its connection says. */
const originOf = ({ socket }: IncomingMessage): string =>
  JSON.stringify({
    remoteAddress: socket.remoteAddress,
    localPort: socket.localPort,
    ...(socket instanceof TLSSocket && { encrypted: true })
  })

/** Makes the socket of a passed request answer as that of its client. */
const restoreOrigin = ({ headers, socket }: IncomingMessage): void => {
  const origin = asObject(parseJson(asString(headers[originHeader]) ?? ""))
  delete headers[originHeader]
  for (const [name, value] of Object.entries(origin)) Object.defineProperty(socket, name, { value, configurable: true })
}

/** The first bytes of a request. */
const formatHead = ({ headers, url }: IncomingMessage, more: Readonly<Record<string, string>> = {}): Buffer => {
  const lines = Object.entries({ ...headers, ...more }).map(([name, value]) => `${name}: ${String(value)}`)
  return Buffer.from([`GET ${url} HTTP/1.1`, ...lines, "", ""].join("\r\n"), "latin1")
}

/** Receives the requests that other workers pass on. */
const receiveRequests = Effect.fnUntraced(function* (http: Server, path: string) {
  const server = yield* makeHttpServer({ ...httpTimeouts, closeTimeout, maxConnections: Number.POSITIVE_INFINITY })
  for (const event of ["request", "upgrade"] as const) {
    server.on(event, (request: IncomingMessage, ...more: ReadonlyArray<unknown>) => {
      restoreOrigin(request)
      http.emit(event, request, ...more)
    })
  }
  yield* listenOnSocket(server, path)
})

/** Receives the connections that the primary process gives to this worker. */
const receiveConnections = (http: Server, { listen, send }: PrimaryChannel): void => {
  const passed: Array<() => void> = []
  const serve = (socket: Socket, read?: string): void => {
    // As the connections that an HTTP server accepts.
    socket.setNoDelay(true)
    socket.allowHalfOpen = true
    if (read !== undefined) socket.unshift(Buffer.from(read, "base64"))
    http.emit("connection", socket)
  }
  listen((message, socket) => {
    if (message._tag === "Released") passed.shift()?.()
    if (message._tag !== "Connection") return
    const { read } = message
    send({ _tag: "Taken" })
    // The client may have closed the connection meanwhile.
    const start = () => (socket instanceof Socket ? serve(socket, read) : undefined)
    if (read === undefined) start()
    else passed.push(start)
  })
}

/** Begins the same request at another worker. Its connection is kept until the end of the reply. */
const repeatRequest = (socketPath: string, request: IncomingMessage, path = request.url) =>
  startRequest({
    agent: false,
    socketPath,
    method: request.method,
    path,
    headers: { ...request.headers, connection: "keep-alive", [originHeader]: originOf(request) }
  })

/** Passes a request on; `serveHere` follows when the other worker is gone. */
const pass = (socketPath: string, request: IncomingMessage, response: ServerResponse, serveHere: () => void): void => {
  const upstream = repeatRequest(socketPath, request)
  upstream.on("response", (reply) => {
    const { connection: _, "keep-alive": __, "transfer-encoding": ___, ...headers } = reply.headers
    response.writeHead(reply.statusCode ?? 500, headers)
    pipeline(reply, response, () => undefined)
  })
  upstream.on("error", () => {
    request.unpipe(upstream)
    if (!response.headersSent && !response.destroyed) serveHere()
  })
  response.on("close", () => upstream.destroy())
  request.pipe(upstream)
}

/** The page of another worker; none when it does not answer in time. */
const ask = (socketPath: string, request: IncomingMessage, path: string) =>
  Effect.callback<string, string>((resume) => {
    const upstream = repeatRequest(socketPath, request, path)
    const fail = () => resume(Effect.fail("no page"))
    upstream.on("error", fail)
    upstream.on("response", (reply) => {
      if (reply.statusCode !== 200) fail()
      else text(reply).then((page) => resume(Effect.succeed(page)), fail)
    })
    upstream.end()
    return Effect.sync(() => upstream.destroy())
  }).pipe(Effect.timeout(askTimeout), Effect.option)

/**
 * Makes the sharing of a port among workers. The id of a session begins with the number of its worker: in the query of a
 * Socket.IO request, or in the cookie of the office page. Requests of the others pass over Unix sockets. A WebSocket moves
 * with its connection; with TLS, whose keys this process has, its bytes pass through.
 */
export const makePortSharing = (
  { count, folder, index, url: ownUrl }: WorkerIdentity,
  channel: PrimaryChannel
): PortSharing => {
  let serving: ReadonlyArray<number> = []
  channel.listen((message) => {
    if (message._tag === "Serving") serving = message.workers
  })

  /** The worker of the office that a new member will join, while that one takes connections. With TLS, passing costs more. */
  const officeOwner = ({ socket, url = "" }: IncomingMessage): number => {
    if (socket instanceof TLSSocket) return index
    const owner = Number.parseInt(officePattern.exec(url)?.[1] ?? "", 16) % count
    return serving.includes(owner) ? owner : index
  }

  /** The other worker that has the session of a request. */
  const ownerOf = (request: IncomingMessage): number | undefined => {
    const { headers, url = "" } = request
    const [, digits] = /[?&]sid=(\d{1,3})\./.exec(url) ?? /\ba2c_page_\d+=(\d{1,3})\./.exec(headers.cookie ?? "") ?? []
    const owner = digits === undefined ? officeOwner(request) : Number(digits)
    return owner < count && owner !== index ? owner : undefined
  }

  return {
    sessionPrefix: `${index}.`,
    servesApps: index === 0,
    passRequest: (request, response, serveHere) => {
      const owner = ownerOf(request)
      if (owner !== undefined) pass(requestSocket(folder, owner), request, response, serveHere)
      return owner !== undefined
    },
    passUpgrade: (request, socket, head) => {
      const owner = ownerOf(request)
      if (owner === undefined) return false
      socket.on("error", () => undefined)
      if (socket instanceof TLSSocket || !(socket instanceof Socket)) {
        const upstream = connect(requestSocket(folder, owner))
        upstream.write(Buffer.concat([formatHead(request, { [originHeader]: originOf(request) }), head]))
        pipeline(socket, upstream, socket, () => undefined)
      } else {
        const read = Buffer.concat([formatHead(request), head]).toString("base64")
        // A copy would read some of what the client sends after the answer.
        channel.send({ _tag: "Connection", to: owner, read }, socket, () => {
          socket.destroy()
          channel.send({ _tag: "Passed" })
        })
      }
      return true
    },
    askOthers: (request, path) => {
      // A request of another worker came over a Unix socket.
      const indexes = request.socket.localAddress === undefined ? [] : Array.range(0, count - 1)
      const others = indexes.filter((other) => other !== index).map((other) => requestSocket(folder, other))
      const asking = Effect.forEach(others, (other) => ask(other, request, path), { concurrency: "unbounded" })
      return Effect.map(asking, Array.getSomes)
    },
    listen: Effect.fnUntraced(function* (http) {
      yield* receiveRequests(http, requestSocket(folder, index))
      // Nothing connects here: a server applies its timeouts only while it listens.
      yield* listenOnSocket(http, `${requestSocket(folder, index)}-unused`)
      receiveConnections(http, channel)
      return { url: ownUrl }
    })
  }
}
