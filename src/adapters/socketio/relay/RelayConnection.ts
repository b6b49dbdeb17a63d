import type { Handshake } from "../../../application/ports/Transport.ts"
import type { Deadlines } from "../connection/Deadlines.ts"
import type { ConnectionContext } from "../connection/ConnectionContext.ts"
import { MemberConnection, type Violation } from "../connection/MemberConnection.ts"
import { type OutboundMessage, ServerLink } from "../connection/OutboundMessage.ts"
import type { InboundPacket } from "../connection/parsePacket.ts"
import { makeSessionId } from "../connection/sessionId.ts"
import { makeHandshake, type RequestHead } from "../gate.ts"
import { PollingTransport } from "./PollingTransport.ts"
import type { RelayTransport, TransportListener } from "./RelayTransport.ts"
import { startUpgrade } from "./Upgrade.ts"
import type { WebSocketTransport } from "./WebSocketTransport.ts"

/** Types of Engine.IO's packets: the first byte of each. */
const packetTypes = { open: 0x30, close: 0x31, ping: 0x32, pong: 0x33, message: 0x34, upgrade: 0x35, noop: 0x36 }

/** Bytes per second that a connection must receive to count as alive. Slower senders would hold memory for ever. */
const minBytesPerSecond = 1024

/** The engine of a connection. */
export interface ConnectionHost {
  readonly pings: Deadlines<RelayConnection>
  readonly pongs: Deadlines<RelayConnection>
  /** In milliseconds. */
  readonly pingTimeout: number
  /** The ids of all connections begin with it. */
  readonly idPrefix: string
  readonly connections: Map<string, RelayConnection>
  /** The first packet of a connection. */
  readonly openPacket: (connection: RelayConnection) => string
}

/** A connection: its session of Engine.IO, and the part of Socket.IO that members need. */
export class RelayConnection extends MemberConnection implements TransportListener {
  readonly id: string
  readonly remoteAddress: string
  readonly #head: RequestHead
  readonly #engine: ConnectionHost
  #transport: RelayTransport
  #cancelUpgrade: (() => void) | undefined
  #state: "open" | "closing" | "closed" = "open"
  /** What had moved at the latest ping. */
  #receivedBytes = 0
  #sentBytes = 0
  #hadBacklog = false

  constructor(
    engine: ConnectionHost,
    context: ConnectionContext,
    head: RequestHead,
    remoteAddress: string,
    open: (listener: TransportListener) => RelayTransport
  ) {
    super(context)
    this.id = engine.idPrefix + makeSessionId()
    this.remoteAddress = remoteAddress
    this.#engine = engine
    this.#head = head
    this.#transport = open(this)
    this.#transport.sendPacket(engine.openPacket(this))
    engine.pings.start(this)
  }

  get traffic(): RelayTransport {
    return this.#transport
  }

  /** The transport of a connection that polls. */
  get polling(): PollingTransport | undefined {
    return this.#transport instanceof PollingTransport ? this.#transport : undefined
  }

  /** Begins an upgrade to the transport that `open` opens; false when the connection cannot have one. */
  beginUpgrade(open: (listener: TransportListener) => WebSocketTransport): boolean {
    const { polling } = this
    if (polling === undefined || this.#cancelUpgrade !== undefined || this.#state !== "open") return false
    const onEnd = (transport?: WebSocketTransport) => {
      this.#cancelUpgrade = undefined
      if (transport !== undefined) this.#switchTo(transport, polling)
    }
    this.#cancelUpgrade = startUpgrade({ connection: this, polling, open, onEnd })
    return true
  }

  /** Sends a ping, and notes what has moved until then. */
  sendPing(): void {
    this.#receivedBytes = this.#transport.receivedBytes()
    this.#sentBytes = this.#transport.sentBytes()
    this.#hadBacklog = this.#transport.bufferedBytes() > 0
    this.#transport.sendPacket("2")
    this.#engine.pings.stop(this)
    this.#engine.pongs.start(this)
  }

  /** Closes a connection without a pong, unless bytes move: a member cannot answer before the end of a long message. */
  onPongDue(): void {
    const least = (minBytesPerSecond * this.#engine.pingTimeout) / 1000
    const hasReceived = this.#transport.receivedBytes() - this.#receivedBytes >= least
    // Unqueued bytes prove nothing: a network buffer may hold them.
    const hasSent = this.#hadBacklog && this.#transport.sentBytes() > this.#sentBytes
    if (hasReceived || hasSent) this.sendPing()
    else this.#close(true, "keepalive_timeout")
  }

  write(message: OutboundMessage): void {
    this.#transport.send(message)
  }

  closeConnection(discard: boolean): void {
    this.#close(discard, "closed_locally")
  }

  onPacket(packet: Buffer): void {
    if (this.#state !== "open") return
    const type = packet[0] ?? 0
    if (type === packetTypes.message) return this.onData(packet.subarray(1))
    this.onControlFrame()
    switch (type) {
      case packetTypes.pong:
        this.#engine.pongs.stop(this)
        return this.#engine.pings.start(this)
      case packetTypes.close:
        this.polling?.poke()
        return this.#close(true, "transport_closed")
      case packetTypes.ping:
        return this.#close(true, "transport_error")
      case packetTypes.open:
      case packetTypes.upgrade:
      case packetTypes.noop:
        return undefined
      default:
        return this.#close(true, "invalid_packet")
    }
  }

  onBinary(): void {
    if (this.#state === "open") this.onData(undefined)
  }

  onControlFrame(): void {
    if (this.#state === "open") this.onControlPacket()
  }

  onTransportClosed(transport: RelayTransport, reason: string): void {
    if (transport === this.#transport) this.#close(true, reason)
  }

  protected get isOpen(): boolean {
    return this.#state === "open"
  }

  protected sendText(packet: string): void {
    this.#transport.sendPacket(`4${packet}`)
  }

  protected handshake(auth: unknown): Handshake {
    return makeHandshake(this.#head, this.remoteAddress, auth)
  }

  protected onInboundPacket(packet: InboundPacket): Violation | undefined {
    switch (packet.type) {
      case "connect":
        return this.checkConnect() ?? this.#connect(packet.auth)
      case "disconnect":
        return this.onDisconnect()
      case "event":
      case "ack":
        return this.onMessagePacket(packet)
    }
  }

  #connect(auth: unknown): undefined {
    const { namespace } = this.context
    const link = new ServerLink(makeSessionId(), this, this.context)
    const send = (type: number, data: object) => this.sendText(`${type}${namespace},${JSON.stringify(data)}`)
    this.admit(link, auth, {
      onAdmitted: () => send(0, { sid: link.id }),
      onRejected: ({ code, message, reason }) => send(4, { message, data: { code, message, reason } }),
      onLeft: () => undefined
    })
  }

  #switchTo(transport: WebSocketTransport, polling: PollingTransport): void {
    this.#transport = transport
    transport.listener = this
    polling.moveTo(transport)
    // The pending ping may be lost with the old transport.
    this.sendPing()
  }

  #close(discard: boolean, reason: string): void {
    if (this.#state === "closed" || (this.#state === "closing" && !discard)) return
    this.#state = "closing"
    this.#engine.pings.stop(this)
    this.#engine.pongs.stop(this)
    this.#cancelUpgrade?.()
    this.#transport.close(discard, () => {
      if (this.#state === "closed") return
      this.#state = "closed"
      this.#engine.connections.delete(this.id)
      this.onClosed(reason)
    })
  }
}
