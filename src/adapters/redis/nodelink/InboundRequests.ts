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
export const makeInboundRequests = (queue: SendQueue, diagnostics: LinkDiagnostics) => {
  const pending = new Map<number, () => void>()
  let isCancelled = false

  const sendReply = (id: number, exit: ReplyExit): void => {
    if (isCancelled || queue.send(replyLane(id), replyFrame(id, exit)) !== "queue_full") return
    queue.sendNow(rejectedReply(id, sendQueueFull))
    diagnostics.unsent++
  }

  return {
    size: () => pending.size,
    onRequest: (
      fields: MessageReader,
      reassembled: Buffer | undefined,
      handler: NodeMessageHandler | undefined
    ): void => {
      const id = fields.u32()
      const timeoutMillis = fields.f64()
      const to = { sid: fields.string(), office: fields.string() }
      const event = fields.string()
      const body = decodeFrameBody(fields, reassembled)
      if (fields.isTruncated || Number.isNaN(timeoutMillis) || pending.has(id))
        return diagnostics.onInvalidMessage("invalid_request")
      if (handler === undefined) return sendReply(id, Exit.fail(new LinkClosed({ reason: "the node does not serve" })))
      const reply = (exit: ReplyExit) => {
        if (pending.delete(id)) sendReply(id, exit)
      }
      // Pending before the handler starts, since the handler may reply at once.
      pending.set(id, noop)
      diagnostics.runGuarded(() => {
        const cancel = handler.startRequest(to, event, body, Duration.millis(Math.max(0, timeoutMillis)), reply)
        if (pending.has(id)) pending.set(id, cancel)
      })
    },
    /** Rejects a request that exceeds the reassembly budget. */
    rejectRequest: (id: number, error: ProtocolError): void => {
      if (!pending.has(id)) sendReply(id, Exit.fail(new SendFailed({ error })))
    },
    /** Cancels a request, or withdraws its queued reply. */
    onCancel: (id: number): void => {
      const cancel = pending.get(id)
      if (cancel === undefined) return queue.withdrawLane(replyLane(id))
      pending.delete(id)
      diagnostics.runGuarded(cancel)
    },
    /** Cancels all requests and replies to them: this node serves no longer. */
    rejectAll: (): void => {
      for (const [id, cancel] of pending) {
        pending.delete(id)
        cancel()
        sendReply(id, Exit.fail(new LinkClosed({ reason: "the node has stopped serving" })))
      }
    },
    /** Cancels all requests without replies: the peer is lost. */
    cancelAll: (): void => {
      isCancelled = true
      for (const cancel of pending.values()) diagnostics.runGuarded(cancel)
    }
  }
}
