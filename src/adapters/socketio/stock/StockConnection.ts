import type { Socket as EngineSocket } from "engine.io"
import type { ExtendedError, Socket } from "socket.io"
import { Result } from "effect"
import type { AdmissionRejected, Handshake } from "../../../application/ports/Transport.ts"
import { isJsonObject } from "../../../domain/json.ts"
import { closeReasonCode } from "../closeReasons.ts"
import { makeHandshake, readHead } from "../gate.ts"
import type { ConnectionContext } from "../connection/ConnectionContext.ts"
import { maxPayloadBytes } from "../connection/engineOptions.ts"
import { MemberConnection, type Violation } from "../connection/MemberConnection.ts"
import { type OutboundMessage, ServerLink, type ServerLinkContext } from "../connection/OutboundMessage.ts"
import type { InboundPacket } from "../connection/parsePacket.ts"
import { maxUnauthenticatedBytes } from "../limits.ts"
import { OutboundQueue } from "./OutboundQueue.ts"
import { StockTraffic } from "./StockTraffic.ts"
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

/** A packet of Engine.IO. */
interface EnginePacket {
  type: string
  data?: unknown
}

/** A connection of a Socket.IO server. Connects and disconnects pass through Socket.IO; messages do not. */
export class StockConnection extends MemberConnection {
  readonly traffic: StockTraffic
  readonly remoteAddress: string
  readonly #engineSocket: EngineSocket
  readonly #queue: OutboundQueue
  #link: StockLink | undefined
  /** The credentials of the latest connect packet. */
  #auth: unknown
  /** The packet that Socket.IO gets instead of the latest one. */
  #passed: string | undefined

  constructor(engineSocket: EngineSocket, context: ConnectionContext) {
    super(context)
    this.#engineSocket = engineSocket
    this.remoteAddress = engineSocket.remoteAddress
    const { isExclusive } = context
    this.traffic = new StockTraffic({
      isTrusted: () => this.isAdmitted || !isExclusive,
      maxPayloadBytes: () => maxPayloadBytes(context.limits.maxMessageBytes),
      onBytesReceived: () => this.onBytesReceived(),
      onBacklogChange: () => this.onBacklogChange(),
      onViolation: (violation) => this.onViolation(violation)
    })
    this.#queue = new OutboundQueue(engineSocket, (bytes) => this.traffic.onFlush(bytes))
    if (engineSocket.transport.name === "websocket") this.traffic.onWebSocket(engineSocket.request.socket)
    this.#limitPayload(maxUnauthenticatedBytes)
    engineSocket.on("upgrade", () => this.traffic.onWebSocket())
    engineSocket.on("drain", () => this.onBacklogChange())
    engineSocket.on("packet", (packet: EnginePacket) => this.#onPacket(packet))
    engineSocket.once("close", (reason: string) => {
      this.#queue.close()
      this.traffic.close()
      this.onClosed(closeReasonCode(reason))
    })
  }

  /** True while the connection may begin an upgrade. */
  get canUpgrade(): boolean {
    return this.#engineSocket.transport.name === "polling" && !this.#engineSocket.upgrading
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
    socket.once("disconnect", (reason) => this.leaveNamespace(link, closeReasonCode(reason)))
  }

  override incompleteBytes(): number {
    return this.isAdmitted || this.context.isExclusive ? super.incompleteBytes() : 0
  }

  closeConnection(discard: boolean): void {
    this.#engineSocket.close(discard)
    if (discard) this.traffic.discard()
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

  /** Takes the data of the namespace before Socket.IO gets them. */
  #onPacket(packet: EnginePacket): void {
    this.traffic.onPacket()
    if (packet.type !== "message") return this.onControlPacket()
    const { data } = packet
    const { isExclusive, namespace } = this.context
    const isText = typeof data === "string"
    const isOurs = isExclusive || (isText ? isPacketOf(namespace, data) : this.pendingAttachments > 0)
    if (!isOurs) return undefined
    this.#passed = undefined
    this.onData(isText ? Buffer.from(data) : undefined)
    // Engine.IO passes nothing on of a packet without data.
    if (this.#passed === undefined) packet.type = "noop"
    else packet.data = this.#passed
    return undefined
  }

  #limitPayload(maxBytes: number): void {
    const { transport } = this.#engineSocket
    if (this.context.isExclusive && "maxHttpBufferSize" in transport) transport.maxHttpBufferSize = maxBytes
  }

  protected onInboundPacket(packet: InboundPacket): Violation | undefined {
    switch (packet.type) {
      case "connect": {
        const violation = this.checkConnect()
        if (violation !== undefined) return violation
        this.#auth = packet.auth
        this.#passed = `0${packet.namespace},${JSON.stringify(isJsonObject(packet.auth) ? packet.auth : {})}`
        return undefined
      }
      case "disconnect": {
        const violation = this.onDisconnect()
        if (violation === undefined && this.#link !== undefined) this.#passed = `1${packet.namespace},`
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
