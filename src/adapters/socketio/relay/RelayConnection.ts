import { randomUUID } from "node:crypto"
import type { Socket as EngineSocket } from "engine.io"
import type { ConnectionContext } from "../connection/ConnectionContext.ts"
import { MemberConnection, type Violation } from "../connection/MemberConnection.ts"
import { type OutboundMessage, releaseMessages, ServerLink } from "../connection/OutboundMessage.ts"
import type { InboundPacket } from "../connection/parsePacket.ts"
import type { Traffic } from "../connection/Traffic.ts"
import { asMessageData, queuedPackets } from "../internals.ts"
import { TextFrame } from "./ByteWebSocket.ts"
import { type RelayTransport, relayTransportOf, type TransportListener } from "./RelayTransport.ts"
import { BacklogArena, minArenaBacklog } from "../connection/BacklogArena.ts"

const textBytes = (data: unknown): Buffer | undefined => {
  if (data instanceof TextFrame) return data.bytes
  return typeof data === "string" ? Buffer.from(data) : undefined
}

/** A connection of {@link RelayEngine}: it does the part of Socket.IO itself. */
export class RelayConnection extends MemberConnection implements TransportListener {
  /** Messages for a slow reader in Engine.IO's queue. */
  #arena: BacklogArena | undefined

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

  get traffic(): Traffic {
    return relayTransportOf(this.engineSocket).traffic
  }

  /** Sends a message at once when no other one waits, else through Engine.IO's queue. */
  write(message: OutboundMessage, link: ServerLink): void {
    const { engineSocket } = this
    const canSendNow = engineSocket.readyState === "open" && queuedPackets(engineSocket).length === 0
    if (canSendNow && relayTransportOf(engineSocket).trySend(message)) message.onDequeued(message.size)
    else engineSocket.send(asMessageData(message.compact(this.#arenaFor(message, link))))
  }

  /** The arena, when much waits before the message. */
  #arenaFor({ size }: OutboundMessage, link: ServerLink): BacklogArena | undefined {
    if (link.backlog() - size <= minArenaBacklog) return undefined
    this.#arena ??= new BacklogArena()
    return this.#arena
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
    const link = new ServerLink(randomUUID(), this, this.context)
    const send = (type: number, data: object) => this.engineSocket.send(`${type}${namespace},${JSON.stringify(data)}`)
    this.admit(link, auth, {
      onAdmitted: () => send(0, { sid: link.id }),
      onRejected: ({ code, message, reason }) => send(4, { message, data: { code, message, reason } }),
      onLeft: () => undefined
    })
  }
}
