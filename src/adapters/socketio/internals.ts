import type { Agent, ClientRequest, IncomingMessage, Server as HttpServer } from "node:http"
import type { Socket as NetSocket } from "node:net"
import type { Socket as EngineSocket, Transport, transports } from "engine.io"
import type { Server as SocketIoServer } from "socket.io"
import type { Socket as ClientSocket } from "socket.io-client"
import type * as parser from "socket.io-parser"
import type { WebSocketServer } from "ws"

// Every private field of `ws`, Engine.IO and Node that this adapter uses. `internals.test.ts` fails when an update
// removes one. Types only: browsers also load this file.

/** The request that opened a transport, with the fields that Engine.IO adds. */
export type EngineRequest = ConstructorParameters<typeof transports.websocket>[0]
export type EnginePolling = ReturnType<typeof transports.polling>
export type ClientEngine = ClientSocket["io"]["engine"]

export const asEngineRequest = (request: IncomingMessage): EngineRequest => request as EngineRequest

/** The id of a connection, which its requests have in their query. */
export const connectionIdOf = (socket: EngineSocket): string => socket["id"]

/** The WebSocket of a transport; `undefined` for polling and for engines without `ws`. */
export const webSocketOf = (transport: Transport): EngineRequest["websocket"] | undefined =>
  (transport as { readonly socket?: EngineRequest["websocket"] }).socket

export const netSocketBelow = (webSocket: object): NetSocket | undefined =>
  (webSocket as { readonly _socket?: NetSocket })._socket

/** Replaces a member of an object. The returned function restores it, unless another library has replaced it in turn. */
const replaceMember = <T extends object, K extends keyof T>(object: T, name: K, replacement: T[K]): (() => void) => {
  const replaced = Object.getOwnPropertyDescriptor(object, name)
  object[name] = replacement
  return () => {
    if (object[name] !== replacement) return
    Reflect.deleteProperty(object, name)
    if (replaced !== undefined) Object.defineProperty(object, name, replaced)
  }
}

/**
 * Decides which upgrade requests of an HTTP server reach its listeners of upgrades; the others are plain requests. The
 * returned function restores the decision of the host. Versions of Node before 24.9 take every request for an upgrade.
 */
export const decideUpgrades = (
  http: HttpServer,
  decide: (request: IncomingMessage, decideHost: () => boolean) => boolean
): (() => void) => {
  const fields = http as { shouldUpgradeCallback?: (request: IncomingMessage) => boolean }
  const replaced = fields.shouldUpgradeCallback
  return replaceMember(fields, "shouldUpgradeCallback", (request) =>
    decide(request, () => replaced === undefined || replaced.call(http, request))
  )
}

/**
 * Offers the events of an HTTP server to `take` before its listeners, also before those that it gets later: two that answer
 * one request would end the process. The returned function restores the server.
 */
export const interceptEvents = (http: HttpServer, take: (event: unknown, args: ReadonlyArray<unknown>) => boolean) => {
  const fields = http as { emit: (event: unknown, ...args: ReadonlyArray<unknown>) => boolean }
  const emit = fields.emit.bind(http)
  return replaceMember(fields, "emit", (event, ...args) => take(event, args) || emit(event, ...args))
}

type SocketIoParser = Pick<typeof parser, "Decoder" | "Encoder">

/** Replaces the parser of connections that open from now on. The returned function restores it. */
export const replaceParser = (io: SocketIoServer, wrap: (parser: SocketIoParser) => SocketIoParser): (() => void) => {
  const fields = io as unknown as { _parser: SocketIoParser }
  return replaceMember(fields, "_parser", wrap(fields._parser))
}

/** The sender of `ws` for frames with a complete header. */
interface FrameSender {
  readonly sendFrame: (frame: ReadonlyArray<Buffer>, done: (error?: Error | null) => void) => void
}

/** Memory of a part of a message beside its bytes: each read of the network is an object. */
const chunkOverhead = 256

interface MessageReceiver {
  readonly _bufferedBytes: number
  readonly _buffers: ReadonlyArray<Buffer>
  readonly _messageLength: number
  readonly _fragments: ReadonlyArray<Buffer>
}

const receiverOf = (webSocket: object | undefined): MessageReceiver | undefined =>
  (webSocket as { readonly _receiver?: MessageReceiver } | undefined)?._receiver

/** Approximate memory of the message that a WebSocket has received in part. */
export const incompleteBytesOf = (webSocket: object | undefined): number => {
  const receiver = receiverOf(webSocket)
  if (receiver === undefined) return 0
  const { _bufferedBytes, _buffers, _fragments, _messageLength } = receiver
  return _bufferedBytes + _messageLength + (_buffers.length + _fragments.length) * chunkOverhead
}

/** Packet options that send a frame with a complete header. */
export const preEncoded = (frame: ReadonlyArray<Buffer>) => ({
  options: { compress: false, wsPreEncodedFrame: frame }
})

/** True for a transport that takes frames of {@link preEncoded}. */
export const takesFrames = (transport: Transport): boolean =>
  !(transport as { readonly perMessageDeflate?: unknown }).perMessageDeflate &&
  typeof (webSocketOf(transport) as { readonly _sender?: FrameSender } | undefined)?._sender?.sendFrame === "function"

/** Closes a polling connection that sends a payload which is not acceptable, before Engine.IO decodes it. */
export const checkPayloads = (transport: Transport, isAcceptable: (payload: string) => boolean, reason: string) => {
  if (!isPolling(transport)) return
  const onData = transport["onData"].bind(transport)
  transport["onData"] = (payload) => {
    if (typeof payload === "string" && !isAcceptable(payload)) transport["onError"](reason, undefined)
    else onData(payload)
  }
}

type WebSocketServerOptions = ConstructorParameters<typeof WebSocketServer>[0]

/** Adds the time that a peer has to answer a close frame, in milliseconds. */
export const withCloseTimeout = (options: WebSocketServerOptions, closeTimeout: number): WebSocketServerOptions =>
  Object.assign({}, options, { closeTimeout })

/** Writes responses as bytes. For a text, Node allocates three bytes a character until the peer has read it. */
export const writeResponsesAsBytes = (polling: EnginePolling): void => {
  const doWrite = polling["doWrite"].bind(polling)
  polling["doWrite"] = (data, options, callback) =>
    doWrite(typeof data === "string" ? Buffer.from(data) : data, options, callback)
  polling.on("headers", (headers: Record<string, string>, { method }: IncomingMessage) => {
    if (method === "GET") headers["Content-Type"] = "text/plain; charset=UTF-8"
  })
}

export const isPolling = (transport: Transport): transport is EnginePolling => transport.name === "polling"

/** The TCP or TLS socket of a client on WebSocket; `undefined` with polling, and where the runtime hides its data. */
export const netSocketOf = ({ transport }: ClientEngine): NetSocket | undefined => {
  const socket = (transport as { readonly ws?: { readonly _socket?: Partial<NetSocket> } } | null)?.ws?._socket
  return typeof socket?.on === "function" ? (socket as NetSocket) : undefined
}

/** Milliseconds after which a client without a ping closes the connection. */
export const keepaliveTimeoutOf = (engine: ClientEngine): number => engine["_pingInterval"] + engine["_pingTimeout"]

/** Starts the timer that waits for the next ping. */
export const startPingTimer = (engine: ClientEngine, millis: number, onTimeout: () => void): void => {
  clearTimeout(engine["_pingTimeoutTimer"])
  engine["_pingTimeoutTime"] = Date.now() + millis
  engine["_pingTimeoutTimer"] = setTimeout(onTimeout, millis)
}

/** Replaces the function that runs when a ping arrives. */
export const replacePingTimer = (engine: ClientEngine, start: () => void): void => {
  engine["_resetPingTimeout"] = start
}

/** Ends the first transport of a client that has not opened, as after an error: the next transport follows. */
export const failOpeningTransport = (engine: ClientEngine, reason: string): void => {
  const { readyState, transport } = engine
  if (readyState !== "opening") return
  transport["onError"](reason, undefined)
  // The engine ignores the transport now, and leaves it open.
  transport.close()
}

export const closeStaleClient = (engine: ClientEngine): void => engine["_onClose"]("ping timeout")

/** Any value as the option for an agent, which Engine.IO passes on to the transport. */
export const asAgentOption = (agent: Agent): boolean => agent as unknown as boolean

/** Calls `onRequest` with every request of an agent before it is sent. */
export const observeRequests = (agent: Agent, onRequest: (request: ClientRequest) => void): void => {
  type AddRequest = (request: ClientRequest, ...details: ReadonlyArray<unknown>) => void
  const fields = agent as unknown as { addRequest: AddRequest }
  const addRequest = fields.addRequest.bind(agent)
  fields.addRequest = (request, ...details) => {
    onRequest(request)
    addRequest(request, ...details)
  }
}
