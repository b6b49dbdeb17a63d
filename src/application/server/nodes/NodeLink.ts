import { Context, Duration, Effect, Exit, Layer, Result, type Scope } from "effect"
import { unavailable } from "../../../domain/model/ProtocolError.ts"
import { type Body, jsonBody } from "../../ports/Body.ts"
import { NodeTransport } from "../../ports/NodeTransport.ts"
import { ServedLines } from "../../ports/ServedLines.ts"
import { type ExtendTimeout, type Link, type ReplyExit, RequestTimeout, SendFailed } from "../../ports/Transport.ts"
import { Limits } from "../Limits.ts"
import { makeInboundLinks } from "./inboundLinks.ts"
import {
  type NodeMessageHandler,
  type NodeReplyExit,
  NodeUnreachable,
  type RequestTarget
} from "./NodeMessageHandler.ts"
import { decodeOutcome, encodeNodeMessage } from "./nodeMessages.ts"
import { makeOutboundLinks } from "./outboundLinks.ts"

/** The load of a node link. All but `links` and the counter are zero when it is idle. */
export interface NodeLoad {
  /** Requests in flight, to and from other nodes. */
  readonly outboundRequests: number
  readonly inboundRequests: number
  /** Bytes that other nodes have not read yet. */
  readonly queuedBytes: number
  /** Open links to other nodes. */
  readonly links: number
  /** Counts notifications and replies dropped because their node could not be reached, or reads too slowly. */
  readonly unsent: number
}

/**
 * Sends messages between the Servers of one cluster, each over the link that its node has opened: a slow node delays only
 * its own messages. Requests and notifications from one node to another arrive in order or not at all.
 *
 * The loss of a link fails its requests with {@link NodeUnreachable}, and cancels them at the other node. The next message
 * opens a new one.
 */
export class NodeLink extends Context.Service<
  NodeLink,
  {
    /** The name of this node, unique in the cluster and for every run. */
    readonly node: string
    /**
     * Handles messages of other nodes until the scope closes. Requests in flight are then cancelled and fail with
     * {@link LinkClosed}.
     */
    readonly serve: (handler: NodeMessageHandler) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Sends a request to a member of another node. Calls `onReply` exactly once, and never before this returns. The
     * returned function cancels the request at both nodes. Fails with:
     *
     * - {@link NodeUnreachable}, when the node or the link to it is lost: at once when an attempt to open it has just failed
     * - {@link SendFailed}, when the other node reads too slowly
     * - {@link RequestTimeout}, at the latest a few seconds after the timeout, which the other node enforces. `extend`
     *   extends it at this node; the other node extends its own
     */
    readonly startRequest: (
      node: string,
      to: RequestTarget,
      event: string,
      body: Body,
      timeout: Duration.Duration,
      onReply: (exit: NodeReplyExit) => void,
      extend?: ExtendTimeout
    ) => () => void
    /** Notifies members of another node with one message, best effort. */
    readonly notify: (node: string, sids: ReadonlyArray<string>, event: string, body: Body) => void
    /** Ends all requests to and from a node that the cluster has lost. */
    readonly onNodeLost: (node: string) => void
    readonly load: () => NodeLoad
  }
>()("a2c-smcp/application/server/nodes/NodeLink") {
  static readonly layer: Layer.Layer<NodeLink, never, NodeTransport> = Layer.effect(
    NodeLink,
    Effect.suspend(() => make)
  )
}

/** How long after the timeout of a request its outcome may still arrive: the other node applies the timeout. */
const timeoutGrace = Duration.seconds(3)

/** Bytes that may wait for one node: several messages of the maximum size. */
const maxQueuedBytes = 64 * 1024 * 1024

const queueFull = new SendFailed({ error: unavailable("The send queue to the other node is full") })

const make = Effect.gen(function* () {
  const { node, serve } = yield* NodeTransport
  const { totalBacklogBytes } = yield* Limits
  // Not in the scope: requests of a node that has shut down also end.
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const outbound = yield* makeOutboundLinks
  const requests = new Set<number>()
  let lastId = 0
  let unsent = 0

  const queuedBytes = (): number => outbound.backlog() + inbound.backlog()
  /** The message that exceeds a limit is still sent. */
  const isFull = (link: Link): boolean => link.backlog() >= maxQueuedBytes || queuedBytes() >= totalBacklogBytes

  const inbound = makeInboundLinks((link, exit) => {
    if (!isFull(link)) return exit
    unsent += 1
    return Exit.fail(queueFull)
  })
  // The nodes of a cluster may serve different lines.
  yield* Effect.provideService(serve(inbound.accept), ServedLines, ServedLines.defaultValue()).pipe(Effect.orDie)

  const startRequest: NodeLink["Service"]["startRequest"] = (name, to, event, body, timeout, onReply, extend) => {
    const id = ++lastId
    let cancelSent: (() => void) | undefined
    requests.add(id)
    const finish = (exit: NodeReplyExit) => {
      if (requests.delete(id)) onReply(exit)
    }
    /** The caller gets the cancel function before the outcome. */
    const finishSoon = (error: NodeUnreachable | SendFailed) =>
      void run(Effect.map(Effect.yieldNow, () => finish(Exit.fail(error))))
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

  const notify = (name: string, sids: ReadonlyArray<string>, event: string, body: Body): void => {
    if (sids.length === 0) return
    const header = encodeNodeMessage({ _tag: "Notify", sids, event })
    outbound.withLink(name, (opened) => {
      const isSent =
        Result.isSuccess(opened) && !isFull(opened.success) && opened.success.post(header, body) === undefined
      if (!isSent) unsent += sids.length
    })
  }

  return NodeLink.of({
    node,
    serve: (handler) =>
      Effect.acquireRelease(
        Effect.sync(() => inbound.setHandler(handler)),
        () => Effect.sync(() => inbound.setHandler(undefined))
      ),
    startRequest,
    notify,
    onNodeLost: (name) => {
      const reason = "the node left the cluster"
      outbound.close(name, reason)
      for (const link of inbound.linksOf(name)) run(link.close(reason))
    },
    load: () => ({
      outboundRequests: requests.size,
      inboundRequests: inbound.requestCount(),
      queuedBytes: queuedBytes(),
      links: outbound.count(),
      unsent
    })
  })
})
