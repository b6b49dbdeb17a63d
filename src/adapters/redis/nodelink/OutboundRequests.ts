import { Duration, Exit, Result } from "effect"
import { type NodeReplyExit, NodeUnreachable } from "../../../application/ports/NodeLink.ts"
import { RequestTimeout } from "../../../application/ports/Transport.ts"
import { badRequest, type ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { decodeReply, type NodeRequest, requestFrame } from "./frameContents.ts"
import type { LinkContext } from "./LinkContext.ts"
import { frameKinds, type MessageReader } from "./messageFormat.ts"
import { maxFieldBytes, type QueuedFrame, type SendQueue, sendQueueFull } from "./SendQueue.ts"

/** How long after the timeout of a request its reply may still arrive, in milliseconds: the peer applies the timeout. */
const replyGraceMillis = 3000

interface PendingRequest {
  readonly onReply: (exit: NodeReplyExit) => void
  readonly timeout: Duration.Duration
  /** The tick at which this node ends the request itself. */
  readonly expiresAtTick: number
  readonly queued: QueuedFrame | undefined
}

/** Requests of this node to one peer. Each ends exactly once, unless it is cancelled before. */
export class OutboundRequests {
  readonly #node: string
  readonly #queue: SendQueue
  readonly #context: LinkContext
  readonly #pending = new Map<number, PendingRequest>()
  #ticks = 0

  constructor(node: string, queue: SendQueue, context: LinkContext) {
    this.#node = node
    this.#queue = queue
    this.#context = context
  }

  get size(): number {
    return this.#pending.size
  }

  /** Sends a request. Returns a function that cancels it, or the error when it cannot be sent. */
  startRequest(request: NodeRequest, onReply: (exit: NodeReplyExit) => void): Result.Result<() => void, ProtocolError> {
    const { timeout, to } = request
    const id = this.#nextId()
    const timeoutMillis = Duration.toMillis(timeout)
    const frame = requestFrame(id, timeoutMillis, request)
    if (frame.maxFieldBytes > maxFieldBytes) return Result.fail(badRequest("The name of the event is too long"))
    const queued = this.#queue.send(to.sid, frame)
    if (queued === "queue_full") return Result.fail(sendQueueFull)
    const ticks = Math.ceil((timeoutMillis + replyGraceMillis) / this.#context.tickMillis)
    this.#pending.set(id, { onReply, timeout, expiresAtTick: this.#ticks + 1 + ticks, queued })
    return Result.succeed(() => this.#cancel(id))
  }

  onReplyFrame(kind: number, fields: MessageReader, reassembled: Buffer | undefined): void {
    const { diagnostics } = this.#context
    const id = fields.u32()
    if (!this.#pending.has(id)) {
      diagnostics.ignored++
      return
    }
    const exit = decodeReply(kind, fields, reassembled)
    if (exit !== undefined) return this.#settle(id, exit)
    diagnostics.onInvalidMessage("invalid_reply")
    this.failRequest(id, "its reply is invalid")
  }

  failRequest(id: number, reason: string): void {
    this.#settle(id, Exit.fail(new NodeUnreachable({ node: this.#node, reason })))
  }

  /** Ends requests whose timeout and grace have passed. */
  tick(): void {
    this.#ticks++
    for (const [id, { timeout, expiresAtTick, onReply }] of this.#pending) {
      if (expiresAtTick > this.#ticks) continue
      this.#cancel(id)
      this.#context.diagnostics.runGuarded(() => onReply(Exit.fail(new RequestTimeout({ timeout }))))
    }
  }

  failAll(reason: string): void {
    for (const id of this.#pending.keys()) this.failRequest(id, reason)
  }

  #settle(id: number, exit: NodeReplyExit): void {
    const request = this.#pending.get(id)
    if (request === undefined) return
    this.#pending.delete(id)
    // A peer may reject a request after its first fragment; the other fragments need not be sent.
    if (request.queued !== undefined) this.#queue.withdraw(request.queued)
    this.#context.diagnostics.runGuarded(() => request.onReply(exit))
  }

  #cancel(id: number): void {
    const request = this.#pending.get(id)
    if (request === undefined) return
    this.#pending.delete(id)
    const { queued } = request
    if (queued !== undefined && this.#queue.withdraw(queued) !== "sent") return
    this.#queue.writerFor(8).beginFrame(frameKinds.cancel).u32(id).endFrame()
  }

  #nextId(): number {
    let id = this.#context.nextId()
    while (this.#pending.has(id)) id = this.#context.nextId()
    return id
  }
}
