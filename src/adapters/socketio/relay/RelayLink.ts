import { randomBytes, randomInt } from "node:crypto"
import { Duration, Effect, Exit, Fiber } from "effect"
import type { Socket as EngineSocket } from "engine.io"
import type { Body } from "../../../application/ports/Body.ts"
import {
  type Reply,
  type ReplyExit,
  type Link,
  LinkClosed,
  RequestTimeout,
  SendFailed,
  type MessageHandler
} from "../../../application/ports/Transport.ts"
import { pauseReading, sendMessage, bufferedBytes } from "./RelayEngine.ts"
import {
  makeAckPacket,
  makeEventPacket,
  type OutboundMessage,
  serializationError
} from "./OutboundMessage.ts"
import type { InboundPacket } from "./parsePacket.ts"

/** Starts what is to run for a member. */
export type RunFork = <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>

/** Longest time a timer of the platform can wait. */
const maxTimerMillis = 2 ** 31 - 1

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
    return this.#queuedBytes + bufferedBytes(this.#engineSocket.transport)
  }

  pauseReading(millis: number): void {
    pauseReading(this.#engineSocket.transport, millis)
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

  request(
    event: string,
    body: Body,
    timeout: Duration.Duration
  ): Effect.Effect<Reply, LinkClosed | RequestTimeout | SendFailed> {
    return Effect.callback((resume) => {
      const cancel = this.startRequest(event, body, timeout, resume)
      return Effect.sync(cancel)
    })
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
  ): "taken" | "unasked" | "too early" {
    if (packet.type === "ack") {
      this.#ackCount += 1
      const pending = this.#pendingRequests.get(packet.id)
      // Late answers are nobody's fault: an Agent may ask and cancel as often as it likes.
      if (pending === undefined) return this.#ackCount > this.#requestCount ? "unasked" : "taken"
      this.#pendingRequests.delete(packet.id)
      clearTimeout(pending.timer)
      pending.onReply(Exit.succeed(packet.values))
      return "taken"
    }
    if (this.#closeReason !== undefined) return "taken"
    if (this.#onMessage === undefined) return "too early"
    const { body, event, id } = packet
    const fiber = this.#runFork(this.#onMessage(event, body))
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) {
      this.#reply(id, event, exit)
      return "taken"
    }
    this.#handlerFibers.add(fiber)
    fiber.addObserver((ended) => {
      this.#handlerFibers.delete(fiber)
      this.#reply(id, event, ended)
    })
    return "taken"
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
      this.#runFork(Effect.logError("handler failed", { event }, exit.cause))
      this.#send(makeAckPacket(id, [], this.#onDequeued))
      return
    }
    const values = exit.value
    if (values.every((body) => serializationError(body) === undefined)) {
      this.#send(makeAckPacket(id, values, this.#onDequeued))
      return
    }
    this.#runFork(Effect.logError("answer cannot be written as JSON", { event }))
    this.#send(makeAckPacket(id, [], this.#onDequeued))
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

  #send(message: OutboundMessage): void {
    this.#queuedBytes += message.size
    sendMessage(this.#engineSocket, message)
  }

  readonly #onDequeued = (size: number): void => {
    this.#queuedBytes -= size
  }
}
