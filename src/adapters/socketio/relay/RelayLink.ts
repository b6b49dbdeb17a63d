import { randomUUID } from "node:crypto"
import type { Socket as EngineSocket } from "engine.io"
import { BacklogArena, minArenaBacklog } from "../connection/BacklogArena.ts"
import type { OutboundMessage } from "../connection/OutboundMessage.ts"
import { type ServerLinkContext, ServerLink } from "../connection/ServerLink.ts"
import { asMessageData, queuedPackets } from "../internals.ts"
import { relayTransportOf } from "./RelayTransport.ts"

/** A link that writes bytes, where its transport takes them. */
export class RelayLink extends ServerLink {
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
