import { Context, Data, type Duration, type Effect, type Exit, type Scope } from "effect"
import type { Body } from "./Body.ts"
import type { ExtendTimeout, Link, LinkClosed, Reply, RequestTimeout, SendFailed } from "./Transport.ts"

/** Another node cannot be reached, or was lost during a request. The message may or may not have arrived. */
export class NodeUnreachable extends Data.TaggedError("NodeUnreachable")<{
  readonly node: string
  readonly reason: string
}> {
  override get message(): string {
    return `Node ${this.node} cannot be reached: ${this.reason}`
  }
}

/** The session that a request is for, and its office as far as the requesting node knows. */
export interface RequestTarget {
  readonly sid: string
  readonly office: string
}

export type NodeReplyExit = Exit.Exit<Reply, LinkClosed | RequestTimeout | SendFailed | NodeUnreachable>

/** Handles the messages of other nodes to the members of this one. */
export interface NodeMessageHandler {
  /**
   * Sends a request to a member and calls `onReply` exactly once, unless the returned function cancels it first. Fails
   * with {@link LinkClosed} when the member is not connected here, or not in that office any more.
   */
  readonly startRequest: (to: RequestTarget, ...request: Parameters<Link["startRequest"]>) => () => void
  /** Forwards a notification to the members that are still connected. */
  readonly notify: (sids: ReadonlyArray<string>, event: string, body: Body) => void
}

/** The load of a node link. All but `directNodes` and the counters are zero when it is idle. */
export interface NodeLoad {
  /** Requests in flight, to and from other nodes. */
  readonly outboundRequests: number
  readonly inboundRequests: number
  /** Bytes of bodies queued for sending, and bodies received in part. */
  readonly queuedBytes: number
  readonly incompleteBodies: number
  /** Nodes to which messages are sent directly. */
  readonly directNodes: number
  /** Counts late replies, and messages that could not be decoded. */
  readonly ignored: number
  /** Counts notifications and replies dropped because the queue of their node was full. */
  readonly unsent: number
}

/**
 * Sends messages between the Servers of one cluster, point to point: a slow node delays only its own messages. Requests
 * and notifications from one node to one member arrive in order or not at all. Short messages may overtake long ones of
 * other members, and replies may overtake each other.
 *
 * A node that loses its connection to the others fails every request between it and them with {@link NodeUnreachable},
 * at both ends, and cancels the requests that it serves for them.
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
     * - {@link NodeUnreachable}, immediately when the node or the connection to it is known to be lost
     * - {@link SendFailed}, when the body is too large or the queue of the node is full
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
>()("a2c-smcp/application/ports/NodeLink") {}
