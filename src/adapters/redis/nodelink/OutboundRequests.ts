import { Duration, Exit, Result } from "effect"
import { type NodeReplyExit, NodeUnreachable } from "../../../application/ports/NodeLink.ts"
import { type ExtendTimeout, RequestTimeout } from "../../../application/ports/Transport.ts"
import { badRequest, type ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { decodeReplyFrame, type NodeRequestFrame, requestFrame } from "./frameContents.ts"
import { frameKinds, maxFieldBytes, type MessageReader } from "./messageFormat.ts"
import { type LinkContext, type QueuedFrame, type SendQueue, sendQueueFull } from "./SendQueue.ts"

/** How long after the timeout of a request its reply may still arrive, in milliseconds: the peer applies the timeout. */
const replyGraceMillis = 3000

interface PendingRequest {
  readonly onReply: (exit: NodeReplyExit) => void
  readonly timeout: Duration.Duration
  /** The tick at which this node ends the request itself. */
  expiresAtTick: number
  readonly extend: ExtendTimeout | undefined
  readonly queued: QueuedFrame | undefined
}

/** Requests of this node to one peer. Each ends exactly once, unless it is cancelled before. */
export const makeOutboundRequests = (
  node: string,
  queue: SendQueue,
  { diagnostics, nextId, tickMillis }: LinkContext
) => {
  const pending = new Map<number, PendingRequest>()
  let ticks = 0

  const settle = (id: number, exit: NodeReplyExit): void => {
    const request = pending.get(id)
    if (request === undefined) return
    pending.delete(id)
    // A peer may reject a request after its first fragment; the other fragments need not be sent.
    if (request.queued !== undefined) queue.withdraw(request.queued)
    diagnostics.runGuarded(() => request.onReply(exit))
  }

  const failRequest = (id: number, reason: string): void => settle(id, Exit.fail(new NodeUnreachable({ node, reason })))

  const cancel = (id: number): void => {
    const request = pending.get(id)
    if (request === undefined) return
    pending.delete(id)
    if (request.queued !== undefined && queue.withdraw(request.queued) !== "sent") return
    queue.writerFor(8).beginFrame(frameKinds.cancel).u32(id).endFrame()
  }

  return {
    size: () => pending.size,
    /** Sends a request. Returns a function that cancels it, or the error when it cannot be sent. */
    startRequest: (
      request: NodeRequestFrame,
      onReply: (exit: NodeReplyExit) => void,
      extend?: ExtendTimeout
    ): Result.Result<() => void, ProtocolError> => {
      const { timeout, to } = request
      let id = nextId()
      while (pending.has(id)) id = nextId()
      const timeoutMillis = Duration.toMillis(timeout)
      const frame = requestFrame(id, timeoutMillis, request)
      if (frame.maxFieldBytes > maxFieldBytes) return Result.fail(badRequest("The name of the event is too long"))
      const queued = queue.send(to.sid, frame)
      if (queued === "queue_full") return Result.fail(sendQueueFull)
      const expiresAtTick = ticks + 1 + Math.ceil((timeoutMillis + replyGraceMillis) / tickMillis)
      pending.set(id, { onReply, timeout, expiresAtTick, extend, queued })
      return Result.succeed(() => cancel(id))
    },
    onReplyFrame: (kind: number, fields: MessageReader, reassembled: Buffer | undefined): void => {
      const id = fields.u32()
      if (!pending.has(id)) return void diagnostics.ignored++
      const exit = decodeReplyFrame(kind, fields, reassembled)
      if (exit !== undefined) return settle(id, exit)
      diagnostics.onInvalidMessage("invalid_reply")
      failRequest(id, "its reply is invalid")
    },
    failRequest,
    failAll: (reason: string): void => {
      for (const id of pending.keys()) failRequest(id, reason)
    },
    /** Ends requests whose timeout and grace have passed. */
    tick: (): void => {
      ticks++
      for (const [id, request] of pending) {
        const { expiresAtTick, extend, onReply, timeout } = request
        if (expiresAtTick > ticks) continue
        const more = extend === undefined ? 0 : Duration.toMillis(extend())
        if (more > 0) {
          request.expiresAtTick = ticks + Math.ceil(more / tickMillis)
          continue
        }
        cancel(id)
        diagnostics.runGuarded(() => onReply(Exit.fail(new RequestTimeout({ timeout }))))
      }
    }
  }
}
