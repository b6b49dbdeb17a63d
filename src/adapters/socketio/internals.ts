import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket as NetSocket } from "node:net"
import type { Socket as EngineSocket, Transport, transports } from "engine.io"
import type { WebSocketServer } from "ws"

/*
 * Every private field of `ws`, Engine.IO and Node that this adapter uses. `internals.test.ts` fails when an update
 * removes one. Types only: browsers load this file, too.
 */

type Timer = ReturnType<typeof setTimeout>

/** The request that opened a transport, with the fields that Engine.IO adds. */
export type EngineRequest = ConstructorParameters<typeof transports.websocket>[0]
export type EnginePackets = Parameters<Transport["send"]>[0]
export type EnginePacket = EnginePackets[number]

/** A request with the fields that Engine.IO adds before it reads them. */
export const asEngineRequest = (request: IncomingMessage): EngineRequest => request as EngineRequest

/** Any value as message data: Engine.IO passes data on to the transport without reading it. */
export const asMessageData = (data: object): string => data as unknown as string

/** The sender of `ws` for frames with a complete header. */
export interface FrameSender {
  readonly sendFrame: (frame: ReadonlyArray<Buffer>, done: (error?: Error | null) => void) => void
}

export const frameSenderOf = (webSocket: object | undefined): FrameSender | undefined =>
  (webSocket as { readonly _sender?: FrameSender } | undefined)?._sender

/** Packet options that send a frame with a complete header. */
export const preEncoded = (frame: ReadonlyArray<Buffer>): Partial<EnginePacket> => {
  const options = { compress: false, wsPreEncodedFrame: frame }
  return { options }
}

type WebSocketServerOptions = ConstructorParameters<typeof WebSocketServer>[0]

/** Options of a WebSocket server with the time that a peer has to answer a close frame, in milliseconds. */
export const withCloseTimeout = (
  options: WebSocketServerOptions,
  closeTimeout: number
): WebSocketServerOptions => Object.assign({}, options, { closeTimeout })

interface EngineSocketFields {
  readonly server: { readonly opts: { readonly pingTimeout: number } }
  readonly writeBuffer: Array<EnginePacket>
  pingTimeoutTimer: Timer | null
  resetPingTimeout: () => void
  sendPacket(type: "ping"): void
  onClose(reason: string): void
}

const fieldsOf = (engineSocket: EngineSocket) => engineSocket as unknown as EngineSocketFields

export const isWriteBufferEmpty = (engineSocket: EngineSocket): boolean =>
  fieldsOf(engineSocket).writeBuffer.length === 0

/** Puts packets back before all others. */
export const requeue = (engineSocket: EngineSocket, packets: EnginePackets): void =>
  void fieldsOf(engineSocket).writeBuffer.unshift(...packets)

/** Replaces the timer that waits for the pong after each ping. `start` gets the ping timeout in milliseconds. */
export const replacePongTimer = (engineSocket: EngineSocket, start: (millis: number) => Timer): void => {
  const fields = fieldsOf(engineSocket)
  fields.resetPingTimeout = () => {
    clearTimeout(fields.pingTimeoutTimer ?? undefined)
    fields.pingTimeoutTimer = start(fields.server.opts.pingTimeout)
  }
}

/** Sends a ping and waits for the pong. */
export const sendPing = (engineSocket: EngineSocket): void => {
  fieldsOf(engineSocket).sendPacket("ping")
  fieldsOf(engineSocket).resetPingTimeout()
}

export const closeStaleSocket = (engineSocket: EngineSocket): void =>
  fieldsOf(engineSocket).onClose("ping timeout")

/** The polling transport of Engine.IO. */
export interface EnginePolling {
  maxHttpBufferSize: number
  closeTimeout: number
  readonly dataReq?: IncomingMessage | null
  send(packets: EnginePackets): void
  onRequest(request: EngineRequest): void
  onData(payload: string): void
  onError(reason: string): void
  once(event: "close", listener: () => void): unknown
}

/** Makes a polling transport. Engine.IO declares a class and exports a function. */
export const makeEnginePolling = (
  polling: typeof transports.polling,
  request: EngineRequest,
  closeTimeout: number
): EnginePolling => {
  const make = polling as unknown as (request: EngineRequest) => EnginePolling
  // JSONP would hide how many packets a payload has; no current client uses it.
  delete request._query["j"]
  const transport = make(request)
  transport.closeTimeout = closeTimeout
  return transport
}

/** The response that a poll waits for. */
export const pollResponseOf = (request: EngineRequest): ServerResponse | undefined =>
  request.method === "GET" ? request.res : undefined

/** The connection of the request that carries the member's messages now. */
export const dataSocketOf = (transport: EnginePolling): NetSocket | undefined => transport.dataReq?.socket

/** The client of Engine.IO. */
export interface ClientEngine {
  readonly transport: object | null
  on(event: "open" | "upgrade", listener: () => void): unknown
}

interface ClientEngineFields {
  readonly transport: { readonly ws?: { readonly _socket?: NetSocket } } | null
  readonly _pingInterval: number
  readonly _pingTimeout: number
  _pingTimeoutTime: number
  _pingTimeoutTimer: Timer | undefined
  _resetPingTimeout: () => void
  _onClose(reason: string): void
}

const clientFieldsOf = (engine: ClientEngine) => engine as unknown as ClientEngineFields

/** The TCP or TLS socket of a client on WebSocket; `undefined` in browsers and with polling. */
export const netSocketOf = (engine: ClientEngine): NetSocket | undefined =>
  clientFieldsOf(engine).transport?.ws?._socket

/** Milliseconds after which a client without a ping closes the connection. */
export const keepaliveTimeoutOf = (engine: ClientEngine): number =>
  clientFieldsOf(engine)._pingInterval + clientFieldsOf(engine)._pingTimeout

/** Starts the timer that waits for the next ping. */
export const startPingTimer = (engine: ClientEngine, millis: number, onTimeout: () => void): void => {
  const fields = clientFieldsOf(engine)
  clearTimeout(fields._pingTimeoutTimer)
  fields._pingTimeoutTime = Date.now() + millis
  fields._pingTimeoutTimer = setTimeout(onTimeout, millis)
}

/** Replaces the function that runs when a ping arrives. */
export const replacePingTimer = (engine: ClientEngine, start: () => void): void => {
  clientFieldsOf(engine)._resetPingTimeout = start
}

export const closeStaleClient = (engine: ClientEngine): void =>
  clientFieldsOf(engine)._onClose("ping timeout")

interface TcpHandle {
  readonly bytesWritten: number
  readonly writeQueueSize: number
  /** The TCP handle of a TLS handle. TLS counts a write only when all of it is sent. */
  readonly _parent?: TcpHandle
}

/** Bytes that the network took from a socket, and bytes that still wait. */
export const writeProgressOf = (
  socket: NetSocket
): { readonly bytesSent: number; readonly bytesQueued: number } => {
  const { _handle: own } = socket as { readonly _handle?: TcpHandle | null }
  const handle = own?._parent ?? own
  const bytesQueued = handle?.writeQueueSize ?? 0
  return { bytesSent: (handle?.bytesWritten ?? 0) - bytesQueued, bytesQueued }
}
