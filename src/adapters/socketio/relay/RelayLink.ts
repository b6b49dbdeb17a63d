import { randomBytes, randomInt } from "node:crypto"
import { Duration, Effect, Exit, Fiber, Scope } from "effect"
import type { Socket as EngineSocket } from "engine.io"
import type { Body } from "../../../application/ports/Body.ts"
import {
  type Reply,
  type ReplyExit,
  type Link,
  LinkClosed,
  RequestTimeout,
  requestUsing,
  SendFailed,
  type MessageHandler
} from "../../../application/ports/Transport.ts"
import { asMessageData, isWriteBufferEmpty } from "../internals.ts"
import { maxTimerMillis } from "../limits.ts"
import {
  makeAckPacket,
  makeEventPacket,
  type OutboundMessage,
  serializationError
} from "./OutboundMessage.ts"
import type { InboundPacket } from "./parsePacket.ts"
import { relayTransportOf } from "./RelayTransport.ts"

/** Starts what is to run for a member. */
export type RunFork = <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>

/** Largest id of a request of ours: some clients keep it in 32 bits, one of them for the sign. */
const maxRequestId = 2 ** 31 - 1

/** A request of ours that waits for its acknowledgement. */
interface PendingRequest {
  readonly onReply: (exit: ReplyExit) => void
  readonly timer: ReturnType<typeof setTimeout>
}

/**
 * The Server's end of a link to a member, on a connection of Engine.IO. Everything that every connection has its own
 * of is a field, and what they do is shared: thousands of them are idle.
 */
export class RelayLink implements Link {
  readonly id = randomBytes(15).toString("base64url")
  /** The scope of the session; it closes after the link. */
  readonly scope = Scope.makeUnsafe()
  readonly #engineSocket: EngineSocket
  readonly #runFork: RunFork
  readonly #pendingRequests = new Map<number, PendingRequest>()
  readonly #handlerFibers = new Set<Fiber.Fiber<Reply>>()
  #requestCount = 0
  /**
   * Begins anywhere: a client answers when it is done, on whatever connection it has by then, and what it was asked on an
   * earlier one must not be taken for an answer to something else.
   */
  #lastRequestId = randomInt(maxRequestId)
  #ackCount = 0
  #queuedBytes = 0
  #onMessage: MessageHandler | undefined
  #closeReason: string | undefined
  #closeListeners: ReadonlyArray<(reason: string) => void> = []

  constructor(engineSocket: EngineSocket, runFork: RunFork) {
    this.#engineSocket = engineSocket
    this.#runFork = runFork
  }

  maxBytes(): number {
    return Number.POSITIVE_INFINITY
  }

  fits(): boolean {
    return true
  }

  backlog(): number {
    return this.#queuedBytes + relayTransportOf(this.#engineSocket).bufferedBytes()
  }

  pauseReading(millis: number): void {
    relayTransportOf(this.#engineSocket).pauseFor(millis)
  }

  get closed(): Effect.Effect<string> {
    return Effect.callback((resume) => {
      if (this.#closeReason !== undefined) return resume(Effect.succeed(this.#closeReason))
      const listener = (reason: string) => resume(Effect.succeed(reason))
      this.#closeListeners = [...this.#closeListeners, listener]
      return Effect.sync(() => {
        this.#closeListeners = this.#closeListeners.filter((other) => other !== listener)
      })
    })
  }

  get closeScope(): Effect.Effect<void> {
    return Scope.close(this.scope, Exit.void)
  }

  close(reason: string): Effect.Effect<void> {
    return Effect.andThen(
      this.markClosed(reason),
      Effect.sync(() => {
        // Whoever takes nothing must not keep the connection open by it.
        this.#engineSocket.close(this.backlog() > 0)
      })
    )
  }

  notify(event: string, body: Body): Effect.Effect<void, LinkClosed | SendFailed> {
    return Effect.suspend(() => {
      const error = this.#sendError(body)
      if (error !== undefined) return Effect.fail(error)
      this.#send(makeEventPacket(undefined, event, body, this.#onDequeued))
      return Effect.void
    })
  }

  get request(): Link["request"] {
    return requestUsing((...call) => this.startRequest(...call))
  }

  startRequest(
    event: string,
    body: Body,
    timeout: Duration.Duration,
    onReply: (exit: ReplyExit) => void
  ): () => void {
    const error = this.#sendError(body)
    if (error !== undefined) {
      const soon = setImmediate(() => onReply(Exit.fail(error)))
      return () => clearImmediate(soon)
    }
    this.#requestCount += 1
    const id = this.#nextRequestId()
    const onTimeout = () => {
      if (this.#pendingRequests.delete(id)) onReply(Exit.fail(new RequestTimeout({ timeout })))
    }
    const timer = setTimeout(onTimeout, Math.min(Duration.toMillis(timeout), maxTimerMillis))
    this.#pendingRequests.set(id, { onReply, timer })
    this.#send(makeEventPacket(id, event, body, this.#onDequeued))
    return () => {
      if (this.#pendingRequests.delete(id)) clearTimeout(timer)
    }
  }

  /** From now on messages reach `receive`. */
  startReceiving(handler: MessageHandler): void {
    this.#onMessage = handler
  }

  /** Takes what the member sends, and says what it was: more answers than questions are not asked for. */
  onPacket(
    packet: Extract<InboundPacket, { readonly type: "event" | "ack" }>
  ): "accepted" | "unsolicited_ack" | "not_admitted" {
    if (packet.type === "ack") {
      this.#ackCount += 1
      const pending = this.#pendingRequests.get(packet.id)
      // Late answers are nobody's fault: an Agent may ask and cancel as often as it likes.
      if (pending === undefined) return this.#ackCount > this.#requestCount ? "unsolicited_ack" : "accepted"
      this.#pendingRequests.delete(packet.id)
      clearTimeout(pending.timer)
      pending.onReply(Exit.succeed(packet.values))
      return "accepted"
    }
    if (this.#closeReason !== undefined) return "accepted"
    if (this.#onMessage === undefined) return "not_admitted"
    const { body, event, id } = packet
    const fiber = this.#runFork(this.#onMessage(event, body))
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) {
      this.#reply(id, event, exit)
      return "accepted"
    }
    this.#handlerFibers.add(fiber)
    fiber.addObserver((ended) => {
      this.#handlerFibers.delete(fiber)
      this.#reply(id, event, ended)
    })
    return "accepted"
  }

  /** The member is gone: everything that waits ends, handlers are interrupted. */
  markClosed(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#closeReason !== undefined) return Effect.void
      this.#closeReason = reason
      this.#onMessage = undefined
      const pending = [...this.#pendingRequests.values()]
      this.#pendingRequests.clear()
      for (const { onReply, timer } of pending) {
        clearTimeout(timer)
        onReply(Exit.fail(new LinkClosed({ reason })))
      }
      for (const listener of this.#closeListeners) listener(reason)
      return Fiber.interruptAll([...this.#handlerFibers])
    })
  }

  #reply(id: number | undefined, event: string, exit: Exit.Exit<Reply>): void {
    if (id === undefined || this.#closeReason !== undefined) return
    if (Exit.isFailure(exit)) {
      this.#runFork(Effect.logError("request handler failed", { sid: this.id, event }, exit.cause))
      this.#send(makeAckPacket(id, [], this.#onDequeued))
      return
    }
    const isSerializable = exit.value.every((body) => serializationError(body) === undefined)
    if (!isSerializable) this.#runFork(Effect.logError("reply not serializable", { sid: this.id, event }))
    this.#send(makeAckPacket(id, isSerializable ? exit.value : [], this.#onDequeued))
  }

  #nextRequestId(): number {
    do this.#lastRequestId = (this.#lastRequestId % maxRequestId) + 1
    while (this.#pendingRequests.has(this.#lastRequestId))
    return this.#lastRequestId
  }

  /** Why a message cannot be sent, or `undefined` when it can. */
  #sendError(body: Body): LinkClosed | SendFailed | undefined {
    if (this.#closeReason !== undefined) return new LinkClosed({ reason: this.#closeReason })
    const error = serializationError(body)
    return error === undefined ? undefined : new SendFailed({ error })
  }

  /** Sends a message at once when no other one waits, else through Engine.IO's queue. */
  #send(message: OutboundMessage): void {
    this.#queuedBytes += message.size
    const socket = this.#engineSocket
    const canSendNow = socket.readyState === "open" && isWriteBufferEmpty(socket)
    if (canSendNow && relayTransportOf(socket).trySend(message)) this.#onDequeued(message.size)
    else socket.send(asMessageData(message))
  }

  readonly #onDequeued = (size: number): void => {
    this.#queuedBytes -= size
  }
}
