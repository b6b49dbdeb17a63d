import { Duration, Exit } from "effect"
import type { NodeMessageHandler } from "../../../application/ports/NodeLink.ts"
import { type ReplyExit, LinkClosed, SendFailed } from "../../../application/ports/Transport.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { LinkDiagnostics } from "./LinkDiagnostics.ts"
import type { MessageReader } from "./messageFormat.ts"
import type { SendQueue } from "./SendQueue.ts"
import { sendReply, withdrawReply } from "./sendFrames.ts"
import { decodeFrameBody } from "./frameContents.ts"

const noop = () => {}

/** The requests of one other node to members of this one, each until it is answered or forgotten. */
export class InboundRequests {
  readonly #queue: SendQueue
  readonly #diagnostics: LinkDiagnostics
  readonly #pending = new Map<number, () => void>()
  #cancelled = false

  constructor(queue: SendQueue, diagnostics: LinkDiagnostics) {
    this.#queue = queue
    this.#diagnostics = diagnostics
  }

  /** Requests without an answer yet. */
  get size(): number {
    return this.#pending.size
  }

  /** The other node asks. */
  onRequest(
    fields: MessageReader,
    reassembled: Buffer | undefined,
    handler: NodeMessageHandler | undefined
  ): void {
    const id = fields.u32()
    const timeoutMillis = fields.f64()
    const to = { sid: fields.string(), office: fields.string() }
    const event = fields.string()
    const body = decodeFrameBody(fields, reassembled)
    if (fields.isTruncated || Number.isNaN(timeoutMillis) || this.#pending.has(id))
      return this.#diagnostics.onInvalidMessage("no request")
    if (handler === undefined) {
      return this.#reply(id, Exit.fail(new LinkClosed({ reason: "the node does not serve" })))
    }
    const reply = (exit: ReplyExit) => {
      if (this.#pending.delete(id)) this.#reply(id, exit)
    }
    // There before the handler is: it may end at once.
    this.#pending.set(id, noop)
    this.#diagnostics.runGuarded(() => {
      const cancel = handler.startRequest(to, event, body, Duration.millis(Math.max(0, timeoutMillis)), reply)
      if (this.#pending.has(id)) this.#pending.set(id, cancel)
    })
  }

  /** The other node asks what cannot be taken. */
  rejectRequest(id: number, error: ProtocolError): void {
    if (!this.#pending.has(id)) this.#reply(id, Exit.fail(new SendFailed({ error })))
  }

  /** The other node does not want an answer any more. */
  onCancel(id: number): void {
    const cancel = this.#pending.get(id)
    if (cancel === undefined) return withdrawReply(this.#queue, id)
    this.#pending.delete(id)
    this.#diagnostics.runGuarded(cancel)
  }

  /** This node serves no longer: nothing is done any more, and the other one is told so. */
  rejectAll(): void {
    for (const [id, cancel] of this.#pending) {
      this.#pending.delete(id)
      cancel()
      this.#reply(id, Exit.fail(new LinkClosed({ reason: "the node has stopped serving" })))
    }
  }

  /** The other node is away: nothing is done for it any more. */
  cancelAll(): void {
    this.#cancelled = true
    for (const cancel of this.#pending.values()) this.#diagnostics.runGuarded(cancel)
  }

  #reply(id: number, exit: ReplyExit): void {
    if (!this.#cancelled && !sendReply(this.#queue, id, exit)) this.#diagnostics.unsent++
  }
}
