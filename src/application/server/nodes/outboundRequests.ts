import { Duration, Effect, Exit, Result } from "effect"
import { unavailable } from "../../../domain/model/ProtocolError.ts"
import { jsonBody } from "../../ports/Body.ts"
import { type Link, type ReplyExit, RequestTimeout, SendFailed } from "../../ports/Transport.ts"
import { type NodeReplyExit, NodeUnreachable, type StartNodeRequest } from "./NodeMessageHandler.ts"
import { decodeOutcome, encodeNodeMessage } from "./nodeMessages.ts"
import type { OutboundLinks } from "./outboundLinks.ts"

/** How long after the timeout of a request its outcome may still arrive: the other node applies the timeout. */
const timeoutGrace = Duration.seconds(3)

export const queueFull = new SendFailed({ error: unavailable("The send queue to the other node is full") })

interface OutboundRequestsOptions {
  readonly outbound: OutboundLinks
  /** True for a link that takes no more messages now. */
  readonly isFull: (link: Link) => boolean
  readonly run: (effect: Effect.Effect<void>) => void
}

/** The requests of this node to others. Each ends exactly once, unless it is cancelled before. */
export const makeOutboundRequests = ({ isFull, outbound, run }: OutboundRequestsOptions) => {
  const requests = new Set<number>()
  let lastId = 0

  const startRequest: StartNodeRequest = (name, to, event, body, timeout, onReply, extend) => {
    const id = ++lastId
    let cancelSent: (() => void) | undefined
    requests.add(id)
    const finish = (exit: NodeReplyExit) => {
      if (requests.delete(id)) onReply(exit)
    }
    /** The caller gets the cancel function before the outcome. */
    const finishSoon = (error: NodeUnreachable | SendFailed) =>
      run(Effect.map(Effect.yieldNow, () => finish(Exit.fail(error))))
    const send = (link: Link) => {
      const cancelAtNode = () => void link.post(encodeNodeMessage({ _tag: "Cancel", id }), jsonBody(null))
      const onEnd = (exit: ReplyExit) => {
        if (Exit.isSuccess(exit)) {
          const outcome = decodeOutcome(exit.value)
          return finish(outcome ?? Exit.fail(new NodeUnreachable({ node: name, reason: "its reply is invalid" })))
        }
        return finish(
          Exit.mapError(exit, (error) => {
            if (error._tag === "LinkClosed") return new NodeUnreachable({ node: name, reason: error.reason })
            if (error._tag === "SendFailed") return error
            cancelAtNode()
            return new RequestTimeout({ timeout })
          })
        )
      }
      const header = encodeNodeMessage({ _tag: "Request", id, timeout, to, event })
      const cancel = link.startRequest(header, body, Duration.sum(timeout, timeoutGrace), onEnd, extend)
      cancelSent = () => {
        cancel()
        cancelAtNode()
      }
    }
    outbound.withLink(name, (opened) => {
      if (!requests.has(id)) return undefined
      if (Result.isFailure(opened)) return finishSoon(opened.failure)
      return isFull(opened.success) ? finishSoon(queueFull) : send(opened.success)
    })
    return () => {
      if (requests.delete(id)) cancelSent?.()
    }
  }

  return { startRequest, count: () => requests.size }
}
