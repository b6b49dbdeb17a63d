import { randomInt } from "node:crypto"
import { Deferred, Duration, Effect, Exit, Fiber, Scope } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import {
  AdmissionRejected,
  type ExtendTimeout,
  type Link,
  LinkClosed,
  type MessageHandler,
  type Reply,
  type ReplyExit,
  RequestTimeout,
  maxTimerMillis,
  notifyUsing,
  requestUsing
} from "../../application/ports/Transport.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { countFreedMember, countSession } from "../process/gcTuning.ts"
import { RawBody } from "./RawBody.ts"
import { fitsBytes, sendError, serializationError } from "./sendError.ts"

/** The largest request id: some clients store ids as signed 32-bit integers. */
const maxRequestId = 2 ** 31 - 1

/** Where messages wait: `onDequeued` gets the size of each one that leaves. */
export type MessageQueue = { readonly onDequeued: (size: number) => void }

export interface QueuedMessage {
  /** In bytes. */
  readonly size: number
  readonly queue: MessageQueue
}

export type ReceivedMessage =
  | { readonly type: "event"; readonly id: number | undefined; readonly event: string; readonly body: Body }
  | { readonly type: "ack"; readonly id: number; readonly values: ReadonlyArray<Body> }

/** What the links of one transport share. */
export interface MessageLinkContext {
  /** Runs the admission and request handlers, which their link interrupts. */
  readonly runFork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  readonly onBacklogChange: (link: Link) => void
}

/**
 * One end of a link whose connection carries messages in both directions; subclasses encode them and write to the
 * connection. Methods instead of closures keep the memory of thousands of idle connections small.
 */
export abstract class MessageLink<Message extends QueuedMessage> implements Link, MessageQueue {
  /** The id of the session in the namespace. */
  readonly id: string
  /** The scope of the session; it closes after the link. */
  readonly scope = Scope.makeUnsafe()
  readonly #context: MessageLinkContext
  // Made when they are needed: most members are idle.
  #pendingRequests: Map<number, { readonly onReply: (exit: ReplyExit) => void; timer: NodeJS.Timeout }> | undefined
  #fibers: Set<Fiber.Fiber<unknown, unknown>> | undefined
  #closed: Deferred.Deferred<string> | undefined
  #requestCount = 0
  /** Random: a client may acknowledge a request of its previous connection here, which must not match a pending one. */
  #lastRequestId = randomInt(maxRequestId)
  #ackCount = 0
  #queuedBytes = 0
  /** The backlog that the Server knows. */
  #reportedBacklog = 0
  #onMessage: MessageHandler | undefined
  #closeReason: string | undefined

  constructor(id: string, context: MessageLinkContext) {
    this.id = id
    this.#context = context
    countSession()
  }

  /** Encodes a request, or a notification without an id. */
  protected abstract encodeEvent(id: number | undefined, event: string, body: Body): Message
  protected abstract encodeReply(id: number, values: ReadonlyArray<Body>): Message
  /** Sends a message, at once or through a queue that calls {@link MessageQueue.onDequeued}. */
  protected abstract write(message: Message): void
  /** Closes the connection of the link; `discard` drops what the peer has not read. */
  protected abstract closeConnection(discard: boolean, reason: string): void
  /** Bytes that have left the queue, and that the network has not taken. */
  protected abstract bufferedBytes(): number
  abstract sentBytes(): number
  abstract pauseReading(millis: number): void

  maxBytes(): number {
    return Number.POSITIVE_INFINITY
  }

  fits(body: Body): boolean {
    return fitsBytes(body, this.maxBytes())
  }

  backlog(): number {
    return this.#queuedBytes + this.bufferedBytes()
  }

  /** Reports the backlog, if it has changed. */
  reportBacklog(): void {
    const backlog = this.backlog()
    if (backlog === this.#reportedBacklog) return
    this.#reportedBacklog = backlog
    this.#context.onBacklogChange(this)
  }

  get closed(): Effect.Effect<string> {
    return Effect.suspend(() => {
      if (this.#closeReason !== undefined) return Effect.succeed(this.#closeReason)
      return Deferred.await((this.#closed ??= Deferred.makeUnsafe()))
    })
  }

  get closeScope(): Effect.Effect<void> {
    return Scope.close(this.scope, Exit.void)
  }

  close(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#end(reason)
      // A peer that reads nothing must not delay the close, and a handler must not delay the release of the memory.
      this.closeConnection(this.backlog() > 0, reason)
      return this.#interruptFibers
    })
  }

  post(event: string, body: Body): ReturnType<Link["post"]> {
    const error = this.#sendError(body)
    if (error === undefined) this.#send(this.encodeEvent(undefined, event, body))
    return error
  }

  get notify(): Link["notify"] {
    return notifyUsing((event, body) => this.post(event, body))
  }

  get request(): Link["request"] {
    return requestUsing((...call) => this.startRequest(...call))
  }

  startRequest(
    event: string,
    body: Body,
    timeout: Duration.Duration,
    onReply: (exit: ReplyExit) => void,
    extend?: ExtendTimeout
  ): () => void {
    const error = this.#sendError(body)
    if (error !== undefined) {
      const soon = setImmediate(onReply, Exit.fail(error))
      return () => clearImmediate(soon)
    }
    this.#requestCount += 1
    const requests = (this.#pendingRequests ??= new Map())
    const id = this.#nextRequestId()
    const onTimeout = () => {
      const more = extend === undefined ? 0 : Duration.toMillis(extend())
      if (more > 0) pending.timer = setTimeout(onTimeout, Math.min(more, maxTimerMillis))
      else if (requests.delete(id)) onReply(Exit.fail(new RequestTimeout({ timeout })))
    }
    const pending = { onReply, timer: setTimeout(onTimeout, Math.min(Duration.toMillis(timeout), maxTimerMillis)) }
    requests.set(id, pending)
    this.#send(this.encodeEvent(id, event, body))
    return () => {
      if (requests.delete(id)) clearTimeout(pending.timer)
    }
  }

  startReceiving(handler: MessageHandler): void {
    this.#onMessage = handler
  }

  /** Handles an event or an acknowledgement. Acknowledgements beyond the number of requests are unsolicited. */
  onPacket(packet: ReceivedMessage): "accepted" | "unsolicited_ack" | "not_admitted" {
    if (packet.type === "ack") {
      this.#ackCount += 1
      const pending = this.#pendingRequests?.get(packet.id)
      // A late acknowledgement of a cancelled request is legal.
      if (pending === undefined) return this.#ackCount > this.#requestCount ? "unsolicited_ack" : "accepted"
      this.#pendingRequests?.delete(packet.id)
      clearTimeout(pending.timer)
      pending.onReply(Exit.succeed(packet.values))
      return "accepted"
    }
    if (this.#closeReason !== undefined) return "accepted"
    if (this.#onMessage === undefined) return "not_admitted"
    const { body, event, id } = packet
    const isPending = this.run(this.#onMessage(event, body), (exit) => this.#reply(id, event, exit))
    if (isPending && body instanceof RawBody) body.compact()
    return "accepted"
  }

  /** Runs an effect that the end of this link interrupts. Returns true when it takes time. */
  run<A, E>(effect: Effect.Effect<A, E>, onExit: (exit: Exit.Exit<A, E>) => void): boolean {
    const fiber = this.#context.runFork(effect)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) {
      onExit(exit)
      return false
    }
    const fibers = (this.#fibers ??= new Set()).add(fiber)
    fiber.addObserver((ended) => {
      fibers.delete(fiber)
      onExit(ended)
    })
    return true
  }

  /** Ends pending requests and interrupts handlers: the member is gone. Ends after the last handler. */
  markClosed(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#end(reason)
      return this.#interruptFibers
    })
  }

  get #interruptFibers(): Effect.Effect<void> {
    return this.#fibers === undefined ? Effect.void : Fiber.interruptAll([...this.#fibers])
  }

  #end(reason: string): void {
    if (this.#closeReason !== undefined) return
    this.#closeReason = reason
    countFreedMember(this.#reportedBacklog)
    this.#onMessage = undefined
    const pending = [...(this.#pendingRequests?.values() ?? [])]
    this.#pendingRequests?.clear()
    for (const { onReply, timer } of pending) {
      clearTimeout(timer)
      onReply(Exit.fail(new LinkClosed({ reason })))
    }
    if (this.#closed !== undefined) Deferred.doneUnsafe(this.#closed, Exit.succeed(reason))
  }

  #reply(id: number | undefined, event: string, exit: Exit.Exit<Reply>): void {
    if (id === undefined || this.#closeReason !== undefined) return
    if (Exit.isFailure(exit)) {
      this.#context.runFork(Effect.logError("request handler failed", { sid: this.id, event }, exit.cause))
      this.#send(this.encodeReply(id, []))
      return
    }
    const canSend = exit.value.every((body) => serializationError(body) === undefined && this.fits(body))
    if (!canSend) this.#context.runFork(Effect.logError("reply not serializable", { sid: this.id, event }))
    this.#send(this.encodeReply(id, canSend ? exit.value : []))
  }

  #nextRequestId(): number {
    do this.#lastRequestId = (this.#lastRequestId % maxRequestId) + 1
    while (this.#pendingRequests?.has(this.#lastRequestId) === true)
    return this.#lastRequestId
  }

  #sendError(body: Body): ReturnType<typeof sendError> {
    return sendError(body, this.maxBytes(), this.#closeReason)
  }

  #send(message: Message): void {
    this.#queuedBytes += message.size
    this.write(message)
    this.reportBacklog()
  }

  onDequeued(size: number): void {
    this.#queuedBytes -= size
  }
}

/** The rejection of a member whose admission has failed with a defect. */
export const admissionFailed = new AdmissionRejected({ code: errorCodes.internalError, message: "Internal error" })

/** Ends a session of a server and closes its scope. */
export const closeLink = <L extends Pick<MessageLink<never>, "markClosed" | "closeScope">>(
  { links }: { readonly links: { readonly delete: (link: L) => boolean } },
  link: L,
  reason: string
) =>
  Effect.suspend(() => {
    links.delete(link)
    return Effect.andThen(link.markClosed(reason), link.closeScope)
  })
