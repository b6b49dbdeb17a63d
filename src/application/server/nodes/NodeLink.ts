import { Context, Effect, Exit, Layer, Result, type Scope } from "effect"
import type { Body } from "../../ports/Body.ts"
import { NodeTransport } from "../../ports/NodeTransport.ts"
import { ServedLines } from "../../ports/ServedLines.ts"
import type { Link } from "../../ports/Transport.ts"
import { Limits } from "../Limits.ts"
import { makeInboundLinks } from "./inboundLinks.ts"
import { encodeNodeMessage, type NodeMessageHandler, type StartNodeRequest } from "./nodeMessages.ts"
import { makeOutboundLinks, makeOutboundRequests, queueFull } from "./outboundLinks.ts"

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
 * The loss of a link fails its requests with `NodeUnreachable`, and cancels them at the other node. The next message
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
    readonly startRequest: StartNodeRequest
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

/** Bytes that may wait for one node: several messages of the maximum size. */
const maxQueuedBytes = 64 * 1024 * 1024

const make = Effect.gen(function* () {
  const { node, serve } = yield* NodeTransport
  const { totalBacklogBytes } = yield* Limits
  // Not in the scope: requests of a node that has shut down also end.
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const outbound = yield* makeOutboundLinks
  let unsent = 0

  const queuedBytes = (): number => outbound.backlog() + inbound.backlog()
  /** The message that exceeds a limit is still sent. */
  const isFull = (link: Link): boolean => link.backlog() >= maxQueuedBytes || queuedBytes() >= totalBacklogBytes

  const inbound = makeInboundLinks((link, exit) => {
    if (!isFull(link)) return exit
    unsent += 1
    return Exit.fail(queueFull)
  })
  const requests = makeOutboundRequests({ outbound, isFull, run })
  // The nodes of a cluster may serve different lines.
  yield* Effect.provideService(serve(inbound.accept), ServedLines, ServedLines.defaultValue()).pipe(Effect.orDie)

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
    startRequest: requests.startRequest,
    notify,
    onNodeLost: (name) => {
      const reason = "the node left the cluster"
      outbound.close(name, reason)
      for (const link of inbound.linksOf(name)) run(link.close(reason))
    },
    load: () => ({
      outboundRequests: requests.count(),
      inboundRequests: inbound.requestCount(),
      queuedBytes: queuedBytes(),
      links: outbound.count(),
      unsent
    })
  })
})
