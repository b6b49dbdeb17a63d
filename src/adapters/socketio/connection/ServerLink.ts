import type { Body } from "../../../application/ports/Body.ts"
import { MessageLink, type MessageLinkContext } from "../../bytes/MessageLink.ts"
import { makeAckPacket, makeNotificationPacket, makeRequestPacket, type OutboundMessage } from "./OutboundMessage.ts"

/** What the links of one Server share. */
export interface ServerLinkContext extends MessageLinkContext {
  readonly namespace: string
}

/** The Server's end of a link over Socket.IO. */
export abstract class ServerLink extends MessageLink<OutboundMessage> {
  readonly #namespace: string

  constructor(id: string, context: ServerLinkContext) {
    super(id, context)
    this.#namespace = context.namespace
  }

  protected encodeNotification(event: string, body: Body): OutboundMessage {
    return makeNotificationPacket(this.#namespace, event, body, this.onDequeued)
  }

  protected encodeRequest(id: number, event: string, body: Body): OutboundMessage {
    return makeRequestPacket(this.#namespace, id, event, body, this.onDequeued)
  }

  protected encodeReply(id: number, values: ReadonlyArray<Body>): OutboundMessage {
    return makeAckPacket(this.#namespace, id, values, this.onDequeued)
  }
}
