import type { Duration } from "effect"
import { Result } from "effect"
import type { Socket } from "socket.io"
import type { Body } from "../../../application/ports/Body.ts"
import type { ExtendTimeout, ReplyExit } from "../../../application/ports/Transport.ts"
import type { OutboundMessage } from "../connection/OutboundMessage.ts"
import { type ServerLinkContext, ServerLink } from "../connection/ServerLink.ts"

/** The part of a connection that a link writes to. */
export interface LinkConnection {
  readonly write: (message: OutboundMessage) => void
  readonly bufferedBytes: () => number
  readonly sentBytes: () => number
  readonly pauseReading: (millis: number) => void
  readonly closeConnection: (discard: boolean) => void
}

type EventListener = (...args: ReadonlyArray<unknown>) => void

/** Calls the host's catch-all listeners, as Socket.IO would, in the next tick. */
const report = (listeners: ReadonlyArray<EventListener>, event: string, body: Body): void => {
  if (listeners.length === 0) return
  const value = Result.getOrElse(body.value(), () => undefined)
  for (const listener of listeners) process.nextTick(listener, event, value)
}

/** A link over a socket of Socket.IO. Its catch-all listeners, as of the Admin UI, get the messages. */
export class StockLink extends ServerLink {
  readonly #socket: Socket
  readonly #connection: LinkConnection

  constructor(socket: Socket, connection: LinkConnection, context: ServerLinkContext) {
    super(socket.id, context)
    this.#socket = socket
    this.#connection = connection
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

  override startRequest(
    event: string,
    body: Body,
    timeout: Duration.Duration,
    onReply: (exit: ReplyExit) => void,
    extend?: ExtendTimeout
  ): () => void {
    const cancel = super.startRequest(event, body, timeout, onReply, extend)
    this.#reportSent(event, body)
    return cancel
  }

  sentBytes(): number {
    return this.#connection.sentBytes()
  }

  pauseReading(millis: number): void {
    this.#connection.pauseReading(millis)
  }

  protected bufferedBytes(): number {
    return this.#connection.bufferedBytes()
  }

  protected closeConnection(discard: boolean): void {
    this.#connection.closeConnection(discard)
  }

  protected write(message: OutboundMessage): void {
    this.#connection.write(message)
  }

  #reportSent(event: string, body: Body): void {
    report(this.#socket.listenersAnyOutgoing(), event, body)
  }
}
