import { randomUUID } from "node:crypto"
import type { Socket as EngineSocket } from "engine.io"
import type { OutboundMessage } from "../connection/OutboundMessage.ts"
import { type LinkContext, ServerLink } from "../connection/ServerLink.ts"
import { asMessageData, isWriteBufferEmpty } from "../internals.ts"
import { relayTransportOf } from "./RelayTransport.ts"

/** A link that writes bytes, where its transport takes them. */
export class RelayLink extends ServerLink {
  readonly #engineSocket: EngineSocket

  constructor(engineSocket: EngineSocket, context: LinkContext) {
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
    const canSendNow = socket.readyState === "open" && isWriteBufferEmpty(socket)
    if (canSendNow && relayTransportOf(socket).trySend(message)) message.onDequeued(message.size)
    else socket.send(asMessageData(message.compact()))
  }
}
