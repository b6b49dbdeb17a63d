import { Context, Data, type Duration, type Effect, type Exit, type Scope } from "effect"
import type { Body } from "./Body.ts"
import type { Reply, ReplyExit, LinkClosed, RequestTimeout, SendFailed } from "./Transport.ts"

/** Another node cannot be reached, or went while it was asked: whether the message arrived is unknown. */
export class NodeUnreachable extends Data.TaggedError("NodeUnreachable")<{
  readonly node: string
  readonly reason: string
}> {
  override get message(): string {
    return `Node ${this.node} cannot be reached: ${this.reason}`
  }
}

/** Whom a request is for: a session, and the office in which whoever asks knows it to sit. */
export interface RequestTarget {
  readonly sid: string
  readonly office: string
}

/** How a request to a member of another node ended. */
export type NodeReplyExit = Exit.Exit<Reply, LinkClosed | RequestTimeout | SendFailed | NodeUnreachable>

/** What a node does with what others want of its members. */
export interface NodeMessageHandler {
  /**
   * Asks a member; `end` is called exactly once unless the function that it returns is called first. A member that is
   * not here, or in that office no more, ends with {@link LinkClosed}.
   */
  readonly startRequest: (
    to: RequestTarget,
    event: string,
    body: Body,
    timeout: Duration.Duration,
    onReply: (exit: ReplyExit) => void
  ) => () => void
  /** Passes a message on to some members; those that have gone miss it. */
  readonly notify: (sids: ReadonlyArray<string>, event: string, body: Body) => void
}

/** How much a node link holds and has left out. All but `ignored` and `unsent` are zero when nothing is under way. */
export interface NodeLoad {
  /** Requests to other nodes, and of other nodes, without an answer yet. */
  readonly outboundRequests: number
  readonly inboundRequests: number
  /** Bytes of bodies that wait until they may be sent, and bodies of which a part has come. */
  readonly queuedBytes: number
  readonly incompleteBodies: number
  /** Answers that nobody waited for, and messages that could not be read. */
  readonly ignored: number
  /** Tells and answers that were left out, because too much waited for their node already. */
  readonly unsent: number
}

/**
 * The way between the Servers of one cluster, point to point: a message reaches the one node it is for, and nobody
 * waits for a node that has no part in it. Requests and tells from one node to the same member arrive in order or not
 * at all; short ones overtake long ones of other members, and answers overtake each other.
 *
 * A node that loses its way to the others gives up everything that is under way between it and them, at both ends: what
 * it has asked and what it was asked ends with {@link NodeUnreachable}, and it forgets what it was doing for them.
 */
export class NodeLink extends Context.Service<
  NodeLink,
  {
    /** The name of this node, unique in the cluster and for every start of the program. */
    readonly node: string
    /**
     * Takes what comes from other nodes until the scope closes; then what is being done for them is forgotten, and
     * their requests end with {@link LinkClosed}.
     */
    readonly serve: (handler: NodeMessageHandler) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Asks a member of another node. `end` is called exactly once, never before this returns, unless the function
     * that it returns is called first: that forgets the answer and tells the node to forget it, too. Ends with
     * {@link NodeUnreachable} at once when the node or the way to it is known to be gone, with {@link SendFailed} when the body
     * is too large to go or too much waits for the node already, and with {@link RequestTimeout} a few seconds after the
     * deadline, which is the other node's to keep, at the latest.
     */
    readonly startRequest: (
      node: string,
      to: RequestTarget,
      event: string,
      body: Body,
      timeout: Duration.Duration,
      onReply: (exit: NodeReplyExit) => void
    ) => () => void
    /** Tells some members of another node, once for all of them; nobody hears whether it arrived. */
    readonly notify: (node: string, sids: ReadonlyArray<string>, event: string, body: Body) => void
    /** The cluster has lost a node: what it was asked ends now, and what it wanted is forgotten. */
    readonly onNodeLost: (node: string) => void
    /** Requests to other nodes under way. */
    readonly outboundCount: () => number
    readonly load: () => NodeLoad
  }
>()("a2c-smcp/application/ports/NodeLink") {}
