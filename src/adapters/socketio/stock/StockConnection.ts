import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket as EngineSocket, Transport } from "engine.io"
import type { ExtendedError, Socket } from "socket.io"
import { type Packet, PacketType } from "socket.io-parser"
import { Result } from "effect"
import type { AdmissionRejected, Handshake } from "../../../application/ports/Transport.ts"
import { isJsonObject } from "../../../domain/json.ts"
import { serverCloseReason } from "../closeReasons.ts"
import { makeHandshake, readHead } from "../gate.ts"
import type { ConnectionContext } from "../connection/ConnectionContext.ts"
import { maxPayloadBytes } from "../connection/engineOptions.ts"
import { MemberConnection, type Violation } from "../connection/MemberConnection.ts"
import { type OutboundMessage, ServerLink, type ServerLinkContext } from "../connection/OutboundMessage.ts"
import { limitPacketsPerPayload, makePollingBuffers } from "../connection/pollingBuffers.ts"
import type { InboundPacket } from "../connection/parsePacket.ts"
import { type Traffic, type TrafficListener, type WebSocketListener, WebSocketTraffic } from "../connection/Traffic.ts"
import { isPolling, netSocketBelow, webSocketOf, writeResponsesAsBytes } from "../internals.ts"
import { closeTimeout, maxUnauthenticatedBytes } from "../limits.ts"
import { OutboundQueue } from "./OutboundQueue.ts"
import type { Body } from "../../../application/ports/Body.ts"

type EventListener = (...args: ReadonlyArray<unknown>) => void

/** Calls the host's catch-all listeners, as Socket.IO would, in the next tick. */
const report = (listeners: ReadonlyArray<EventListener>, event: string, body: Body): void => {
  if (listeners.length === 0) return
  const value = Result.getOrElse(body.value(), () => undefined)
  for (const listener of listeners) process.nextTick(listener, event, value)
}

/** A link over a socket of Socket.IO. Its catch-all listeners, as of the Admin UI, get the messages. */
class StockLink extends ServerLink {
  readonly #socket: Socket

  constructor(socket: Socket, connection: StockConnection, context: ServerLinkContext) {
    super(socket.id, connection, context)
    this.#socket = socket
  }

  /** Reports a received event to the listeners of the host. */
  reportReceived(event: string, body: Body): void {
    report(this.#socket.listenersAny(), event, body)
  }

  override post(event: string, body: Body): ReturnType<ServerLink["post"]> {
    const error = super.post(event, body)
    if (error === undefined) this.#reportSent(event, body)
    return error
  }

  override startRequest(...request: Parameters<ServerLink["startRequest"]>): () => void {
    const [event, body] = request
    const cancel = super.startRequest(...request)
    this.#reportSent(event, body)
    return cancel
  }

  #reportSent(event: string, body: Body): void {
    report(this.#socket.listenersAnyOutgoing(), event, body)
  }
}

type Emit = (packet: Packet) => void

/** True for a text packet of a namespace, whose type and number of attachments come first. */
const isPacketOf = (namespace: string, text: string): boolean => {
  const start = text.indexOf("/")
  const end = start + namespace.length
  if (start === -1 || start > 12 || !text.startsWith(namespace, start)) return false
  return (end === text.length || text[end] === "," || text[end] === "?") && /^\d(?:\d*-)?$/.test(text.slice(0, start))
}

/** The error that Socket.IO sends to a rejected client. */
export const toStockConnectError = ({ code, message, reason }: AdmissionRejected): ExtendedError =>
  Object.assign(new Error(message), { data: { code, message, reason } })

/** What a transport reports to its connection. */
type StockListener = TrafficListener & WebSocketListener

/** Watches the WebSocket of a transport; `undefined` for polling. */
const watchWebSocket = (transport: Transport, listener: StockListener) => {
  const webSocket = webSocketOf(transport)
  if (webSocket === undefined) return undefined
  transport.on("drain", listener.onBacklogChange)
  return new WebSocketTraffic(webSocket, netSocketBelow(webSocket), listener)
}

/** Runs an effect once another listener reads the data of a request: reading them before would lose some. */
const onceRead = (request: IncomingMessage, run: () => void): void => {
  const onListener = (event: string) => {
    if (event !== "data") return
    request.off("newListener", onListener)
    run()
  }
  request.on("newListener", onListener)
}

/** Makes the record of the requests of one connection that polls. */
const trackPolling = (listener: StockListener, maxPayloadBytes: () => number) => {
  const buffers = makePollingBuffers(() => listener, maxPayloadBytes)
  let response: ServerResponse | undefined
  return {
    ...buffers,
    /** Follows a request before Engine.IO handles it. */
    track: (request: IncomingMessage, next: ServerResponse): void => {
      if (request.method === "POST") onceRead(request, () => buffers.trackPayload(request))
      else if (request.method === "GET") response = next
    },
    /** Counts messages in the response of the latest poll. */
    onFlush: (bytes: number): void => {
      if (response !== undefined) buffers.trackResponse(response, bytes)
    },
    /** Frees in time what is not read: it outlives the connection. */
    close: (): void => {
      if (buffers.hasUnread()) setTimeout(buffers.destroyUnread, closeTimeout).unref()
    }
  }
}

/** A connection of a Socket.IO server. Connects and disconnects pass through Socket.IO; messages do not. */
export class StockConnection extends MemberConnection {
  readonly traffic: Traffic = {
    bufferedBytes: () => this.#polling.bufferedBytes() + (this.#webSocket?.bufferedBytes() ?? 0),
    sentBytes: () => this.#polling.sentBytes() + (this.#webSocket?.sentBytes() ?? 0),
    receivedBytes: () => this.#polling.receivedBytes() + (this.#webSocket?.receivedBytes() ?? 0),
    incompleteBytes: () =>
      this.isAdmitted || this.context.isExclusive
        ? this.#polling.incompleteBytes() + (this.#webSocket?.incompleteBytes() ?? 0)
        : 0,
    pauseFor: (millis) => this.#webSocket?.pauseFor(millis)
  }
  readonly remoteAddress: string
  readonly #engineSocket: EngineSocket
  readonly #queue: OutboundQueue
  readonly #polling: ReturnType<typeof trackPolling>
  #webSocket: ReturnType<typeof watchWebSocket>
  #link: StockLink | undefined
  /** The credentials of the latest connect packet. */
  #auth: unknown
  /** Passes a packet on to Socket.IO. */
  #emit: Emit = () => undefined

  constructor(engineSocket: EngineSocket, context: ConnectionContext) {
    super(context)
    this.#engineSocket = engineSocket
    this.remoteAddress = engineSocket.remoteAddress
    this.#queue = new OutboundQueue(engineSocket, (bytes) => {
      if (isPolling(engineSocket.transport)) this.#polling.onFlush(bytes)
    })
    const listener: StockListener = {
      isAdmitted: () => this.isAdmitted || !context.isExclusive,
      onBytesReceived: () => this.onBytesReceived(),
      onBacklogChange: () => this.onBacklogChange(),
      onViolation: (violation) => this.onViolation(violation)
    }
    this.#polling = trackPolling(listener, () => maxPayloadBytes(context.limits.maxMessageBytes))
    this.#webSocket = watchWebSocket(engineSocket.transport, listener)
    const { transport } = engineSocket
    limitPacketsPerPayload(transport)
    if (isPolling(transport)) writeResponsesAsBytes(transport)
    this.#limitPayload(maxUnauthenticatedBytes)
    engineSocket.on("upgrade", (transport: Transport) => {
      this.#webSocket = watchWebSocket(transport, listener)
    })
    engineSocket.on("packet", ({ type }: { readonly type: string }) => {
      if (type !== "message") this.onControlPacket()
    })
    engineSocket.once("close", (reason: string, cause: unknown) => {
      this.#queue.close()
      this.#polling.close()
      this.onClosed(serverCloseReason(reason, cause))
    })
  }

  /** Follows a request of this connection before Engine.IO handles it. */
  trackRequest(request: IncomingMessage, response: ServerResponse): void {
    this.#polling.track(request, response)
  }

  /** Admits the member of a new socket in the namespace. */
  admitSocket(socket: Socket, next: (error?: ExtendedError) => void): void {
    const link = new StockLink(socket, this, this.context)
    this.#link = link
    this.admit(link, this.#auth, {
      onAdmitted: () => {
        this.#limitPayload(maxPayloadBytes(this.context.limits.maxMessageBytes))
        next()
      },
      onRejected: (error) => next(toStockConnectError(error)),
      onLeft: () => next(new Error("left"))
    })
    socket.once("disconnect", (reason, cause) => this.leaveNamespace(link, serverCloseReason(reason, cause)))
  }

  /** Handles data of the namespace; false for data of another one. */
  takeData(data: unknown, emit: Emit): boolean {
    const { isExclusive, namespace } = this.context
    const isText = typeof data === "string"
    const isOurs = isExclusive || (isText ? isPacketOf(namespace, data) : this.pendingAttachments > 0)
    if (!isOurs) return false
    this.#emit = emit
    this.onData(isText ? Buffer.from(data) : undefined)
    return true
  }

  closeConnection(discard: boolean): void {
    this.#engineSocket.close(discard)
    if (!discard) return
    this.#webSocket?.discard()
    this.#polling.destroyUnread()
  }

  closeMember(): void {
    if (this.#link !== undefined) this.#engineSocket.close()
  }

  write(message: OutboundMessage): void {
    this.#queue.write(message)
  }

  protected get isOpen(): boolean {
    return this.#engineSocket.readyState === "open"
  }

  protected sendText(packet: string): void {
    this.#engineSocket.send(packet)
  }

  protected handshake(auth: unknown): Handshake {
    return makeHandshake(readHead(this.#engineSocket.request), this.remoteAddress, auth)
  }

  #limitPayload(maxBytes: number): void {
    const { transport } = this.#engineSocket
    if (this.context.isExclusive && isPolling(transport)) transport.maxHttpBufferSize = maxBytes
  }

  protected onInboundPacket(packet: InboundPacket): Violation | undefined {
    const { namespace: nsp } = packet
    switch (packet.type) {
      case "connect": {
        const violation = this.checkConnect()
        if (violation !== undefined) return violation
        this.#auth = packet.auth
        this.#emit({ type: PacketType.CONNECT, nsp, data: isJsonObject(packet.auth) ? packet.auth : {} })
        return undefined
      }
      case "disconnect": {
        const violation = this.onDisconnect()
        if (violation === undefined && this.#link !== undefined) this.#emit({ type: PacketType.DISCONNECT, nsp })
        this.#link = undefined
        return violation
      }
      case "event": {
        const violation = this.onMessagePacket(packet)
        if (violation === undefined) this.#link?.reportReceived(packet.event, packet.body)
        return violation
      }
      case "ack":
        return this.onMessagePacket(packet)
    }
  }
}
