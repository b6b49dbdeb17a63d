import { randomUUID } from "node:crypto"
import type { Socket as EngineSocket } from "engine.io"
import type { ConnectionContext } from "../connection/ConnectionContext.ts"
import { MemberConnection, type Violation } from "../connection/MemberConnection.ts"
import {
  type OutboundMessage,
  releaseMessages,
  ServerLink,
  type ServerLinkContext
} from "../connection/OutboundMessage.ts"
import type { InboundPacket } from "../connection/parsePacket.ts"
import { asMessageData, queuedPackets } from "../internals.ts"
import { TextFrame } from "./ByteWebSocket.ts"
import { type RelayTransport, relayTransportOf, type TransportListener } from "./RelayTransport.ts"
import { BacklogArena, minArenaBacklog } from "../connection/BacklogArena.ts"

/** A link that writes bytes, where its transport takes them. */
class RelayLink extends ServerLink {
  readonly #engineSocket: EngineSocket
  /** Messages for a slow reader in Engine.IO's queue. */
  #arena: BacklogArena | undefined

  constructor(engineSocket: EngineSocket, context: ServerLinkContext) {
    super(randomUUID(), context)
    this.#engineSocket = engineSocket
  }

  sentBytes(): number {
    return relayTransportOf(this.#engineSocket).sentBytes()
  }

  pauseReading(millis: number): void {
    relayTransportOf(this.#engineSocket).pauseFor(millis)
  }

  protected bufferedBytes(): number {
    return relayTransportOf(this.#engineSocket).bufferedBytes()
  }

  protected closeConnection(discard: boolean): void {
    this.#engineSocket.close(discard)
  }

  /** Sends a message at once when no other one waits, else through Engine.IO's queue. */
  protected write(message: OutboundMessage): void {
    const socket = this.#engineSocket
    const canSendNow = socket.readyState === "open" && queuedPackets(socket).length === 0
    if (canSendNow && relayTransportOf(socket).trySend(message)) message.onDequeued(message.size)
    else socket.send(asMessageData(message.compact(this.#arenaFor(message))))
  }

  /** The arena, when much waits before the message. */
  #arenaFor({ size }: OutboundMessage): BacklogArena | undefined {
    if (this.backlog() - size <= minArenaBacklog) return undefined
    this.#arena ??= new BacklogArena()
    return this.#arena
  }
}

const textBytes = (data: unknown): Buffer | undefined => {
  if (data instanceof TextFrame) return data.bytes
  return typeof data === "string" ? Buffer.from(data) : undefined
}

/** A connection of {@link RelayEngine}: it does the part of Socket.IO itself. */
export class RelayConnection extends MemberConnection implements TransportListener {
  constructor(engineSocket: EngineSocket, context: ConnectionContext) {
    super(engineSocket, context)
    const attach = (transport: RelayTransport) => {
      transport.listener = this
      if (this.isAdmitted) transport.liftSizeLimit()
    }
    attach(relayTransportOf(engineSocket))
    engineSocket.on("upgrade", attach)
    engineSocket.once("close", () => releaseMessages(queuedPackets(engineSocket)))
    engineSocket.on("message", (data: unknown) => this.onData(textBytes(data)))
  }

  onShortMessage(bytes: Buffer): void {
    this.onData(bytes)
  }

  receivedBytes(): number {
    return relayTransportOf(this.engineSocket).receivedBytes()
  }

  protected heldBytes(): number {
    return relayTransportOf(this.engineSocket).incompleteBytes()
  }

  protected liftSizeLimit(): void {
    relayTransportOf(this.engineSocket).liftSizeLimit()
  }

  protected onPacket(packet: InboundPacket): Violation | undefined {
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
    const link = new RelayLink(this.engineSocket, this.context)
    const send = (type: number, data: object) => this.engineSocket.send(`${type}${namespace},${JSON.stringify(data)}`)
    this.admit(link, auth, {
      onAdmitted: () => send(0, { sid: link.id }),
      onRejected: ({ code, message, reason }) => send(4, { message, data: { code, message, reason } }),
      onLeft: () => undefined
    })
  }
}
