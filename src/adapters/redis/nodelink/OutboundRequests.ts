import { Duration, Exit, Result } from "effect"
import { NodeUnreachable, type NodeReplyExit } from "../../../application/ports/NodeLink.ts"
import { RequestTimeout } from "../../../application/ports/Transport.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { LinkDiagnostics } from "./LinkDiagnostics.ts"
import type { MessageReader } from "./messageFormat.ts"
import type { SendQueue, QueuedFrame } from "./SendQueue.ts"
import { type NodeRequest, sendCancel, sendRequest, sendQueueFull } from "./sendFrames.ts"
import { decodeReply } from "./frameContents.ts"

/** How much later than the other node we give up a request, in milliseconds: it has the way back to go. */
const replyGraceMillis = 3000

interface PendingRequest {
  readonly onReply: (exit: NodeReplyExit) => void
  readonly timeout: Duration.Duration
  /** The pulse with which we give it up ourselves. */
  readonly expiresAtTick: number
  readonly queued: QueuedFrame | undefined
}

/** What {@link OutboundRequests} are asked with. */
export interface OutboundRequestsOptions {
  readonly node: string
  readonly queue: SendQueue
  readonly diagnostics: LinkDiagnostics
  /** Numbers that no question to any node has borne lately. */
  readonly nextId: () => number
  /** Milliseconds between two calls of {@link OutboundRequests.tick}. */
  readonly tickMillis: number
}

/** The requests of this node to one other, each until it has ended: exactly once, unless it is forgotten before. */
export class OutboundRequests {
  readonly #options: OutboundRequestsOptions
  readonly #pending = new Map<number, PendingRequest>()
  #ticks = 0

  constructor(options: OutboundRequestsOptions) {
    this.#options = options
  }

  /** Requests without an answer yet. */
  get size(): number {
    return this.#pending.size
  }

  /** Sends a request; gives what forgets it, or why it cannot go. */
  startRequest(
    message: NodeRequest,
    onReply: (exit: NodeReplyExit) => void
  ): Result.Result<() => void, ProtocolError> {
    const { queue, tickMillis } = this.#options
    const { timeout } = message
    const id = this.#nextId()
    const timeoutMillis = Duration.toMillis(timeout)
    const queued = sendRequest(queue, id, timeoutMillis, message)
    if (queued === "refused") return Result.fail(sendQueueFull)
    const expiresAtTick = this.#ticks + 1 + Math.ceil((timeoutMillis + replyGraceMillis) / tickMillis)
    this.#pending.set(id, { onReply, timeout, expiresAtTick, queued })
    return Result.succeed(() => this.#cancel(id))
  }

  /** The other node says how a request has ended. */
  onReplyFrame(kind: number, fields: MessageReader, reassembled: Buffer | undefined): void {
    const { diagnostics } = this.#options
    const id = fields.u32()
    if (!this.#pending.has(id)) {
      diagnostics.ignored++
      return
    }
    const exit = decodeReply(kind, fields, reassembled)
    if (exit !== undefined) return this.#settle(id, exit)
    diagnostics.onInvalidMessage("no answer")
    this.failRequest(id, "its answer cannot be read")
  }

  /** The answer to a request is none that can be taken. */
  failRequest(id: number, reason: string): void {
    this.#settle(id, Exit.fail(new NodeUnreachable({ node: this.#options.node, reason })))
  }

  /** Ends what has been open for too long. */
  tick(): void {
    this.#ticks++
    for (const [id, { timeout, expiresAtTick, onReply }] of this.#pending) {
      if (expiresAtTick > this.#ticks) continue
      this.#cancel(id)
      this.#options.diagnostics.runGuarded(() => onReply(Exit.fail(new RequestTimeout({ timeout }))))
    }
  }

  /** Ends everything: the node is away. */
  failAll(reason: string): void {
    const { diagnostics, node } = this.#options
    const exit = Exit.fail(new NodeUnreachable({ node, reason }))
    for (const [id, { onReply }] of this.#pending) {
      this.#pending.delete(id)
      diagnostics.runGuarded(() => onReply(exit))
    }
  }

  #settle(id: number, exit: NodeReplyExit): void {
    const { diagnostics, queue } = this.#options
    const request = this.#pending.get(id)
    if (request === undefined) return
    this.#pending.delete(id)
    // Whoever refuses a request of which it has seen the beginning need not see the rest.
    if (request.queued !== undefined) queue.withdraw(request.queued)
    diagnostics.runGuarded(() => request.onReply(exit))
  }

  #cancel(id: number): void {
    const { queue } = this.#options
    const request = this.#pending.get(id)
    if (request === undefined) return
    this.#pending.delete(id)
    const { queued } = request
    if (queued !== undefined && queue.withdraw(queued) !== "sent") return
    sendCancel(queue, id)
  }

  #nextId(): number {
    let id = this.#options.nextId()
    while (this.#pending.has(id)) id = this.#options.nextId()
    return id
  }
}
