import { Duration, Exit } from "effect"
import type { NodeMessageHandler } from "../../../application/ports/NodeLink.ts"
import { LinkClosed, type ReplyExit, SendFailed } from "../../../application/ports/Transport.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { decodeFrameBody, rejectedReply, replyFrame } from "./frameContents.ts"
import type { LinkDiagnostics } from "./LinkDiagnostics.ts"
import type { MessageReader } from "./messageFormat.ts"
import { type SendQueue, sendQueueFull } from "./SendQueue.ts"

const noop = () => {}

const replyLane = (id: number): string => `reply ${id}`

/** Requests of one peer to members of this node, each until it is answered or cancelled. */
export class InboundRequests {
  readonly #queue: SendQueue
  readonly #diagnostics: LinkDiagnostics
  readonly #pending = new Map<number, () => void>()
  #cancelled = false

  constructor(queue: SendQueue, diagnostics: LinkDiagnostics) {
    this.#queue = queue
    this.#diagnostics = diagnostics
  }

  get size(): number {
    return this.#pending.size
  }

  onRequest(fields: MessageReader, reassembled: Buffer | undefined, handler: NodeMessageHandler | undefined): void {
    const id = fields.u32()
    const timeoutMillis = fields.f64()
    const to = { sid: fields.string(), office: fields.string() }
    const event = fields.string()
    const body = decodeFrameBody(fields, reassembled)
    if (fields.isTruncated || Number.isNaN(timeoutMillis) || this.#pending.has(id))
      return this.#diagnostics.onInvalidMessage("invalid_request")
    if (handler === undefined) {
      return this.#reply(id, Exit.fail(new LinkClosed({ reason: "the node does not serve" })))
    }
    const reply = (exit: ReplyExit) => {
      if (this.#pending.delete(id)) this.#reply(id, exit)
    }
    // Pending before the handler starts, since the handler may reply at once.
    this.#pending.set(id, noop)
    this.#diagnostics.runGuarded(() => {
      const cancel = handler.startRequest(to, event, body, Duration.millis(Math.max(0, timeoutMillis)), reply)
      if (this.#pending.has(id)) this.#pending.set(id, cancel)
    })
  }

  /** Rejects a request that exceeds the reassembly budget. */
  rejectRequest(id: number, error: ProtocolError): void {
    if (!this.#pending.has(id)) this.#reply(id, Exit.fail(new SendFailed({ error })))
  }

  /** Cancels a request, or withdraws its queued reply. */
  onCancel(id: number): void {
    const cancel = this.#pending.get(id)
    if (cancel === undefined) return this.#queue.withdrawLane(replyLane(id))
    this.#pending.delete(id)
    this.#diagnostics.runGuarded(cancel)
  }

  /** Cancels all requests and replies to them: this node serves no longer. */
  rejectAll(): void {
    for (const [id, cancel] of this.#pending) {
      this.#pending.delete(id)
      cancel()
      this.#reply(id, Exit.fail(new LinkClosed({ reason: "the node has stopped serving" })))
    }
  }

  /** Cancels all requests without replies: the peer is lost. */
  cancelAll(): void {
    this.#cancelled = true
    for (const cancel of this.#pending.values()) this.#diagnostics.runGuarded(cancel)
  }

  #reply(id: number, exit: ReplyExit): void {
    if (this.#cancelled || this.#queue.send(replyLane(id), replyFrame(id, exit)) !== "queue_full") return
    this.#queue.sendNow(rejectedReply(id, sendQueueFull))
    this.#diagnostics.unsent++
  }
}
