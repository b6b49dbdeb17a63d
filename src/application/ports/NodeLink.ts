import { Context, Data, type Duration, type Effect, type Exit, type Scope } from "effect"
import type { Body } from "./Body.ts"
import type { Answer, LinkClosed, NoAnswer, NotSent } from "./Transport.ts"

/** Another node cannot be reached, or went while it was asked: whether the message arrived is unknown. */
export class NodeAway extends Data.TaggedError("NodeAway")<{
  readonly node: string
  readonly reason: string
}> {}

/** How a request to a member of another node ended. */
export type NodeAsked = Exit.Exit<Answer, LinkClosed | NoAnswer | NotSent | NodeAway>

/** What a node does with what others want of its members. */
export interface NodeReceive {
  /** Asks a member; `end` is called exactly once unless the function that it returns is called first. */
  readonly request: (
    sid: string,
    event: string,
    body: Body,
    deadline: Duration.Duration,
    end: (asked: Exit.Exit<Answer, LinkClosed | NoAnswer | NotSent>) => void
  ) => () => void
  /** Passes a message on to some members; those that have gone miss it. */
  readonly tell: (sids: ReadonlyArray<string>, event: string, body: Body) => void
}

/**
 * The way between the Servers of one cluster, point to point: a message reaches the one node it is for, and nobody
 * waits for a node that has no part in it. Messages from one node to another arrive in order or not at all.
 */
export class NodeLink extends Context.Service<
  NodeLink,
  {
    /** The name of this node, unique in the cluster and for every start of the program. */
    readonly node: string
    /** Takes what comes from other nodes until the scope closes. */
    readonly serve: (receive: NodeReceive) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Asks a member of another node. `end` is called exactly once, never before this returns, unless the function
     * that it returns is called first: that forgets the answer and tells the node to forget it, too. Ends with
     * {@link NodeAway} at once when the node or the way to it is known to be gone.
     */
    readonly request: (
      node: string,
      sid: string,
      event: string,
      body: Body,
      deadline: Duration.Duration,
      end: (asked: NodeAsked) => void
    ) => () => void
    /** Tells some members of another node, once for all of them; nobody hears whether it arrived. */
    readonly tell: (node: string, sids: ReadonlyArray<string>, event: string, body: Body) => void
    /** The cluster has lost a node: what it was asked ends now. */
    readonly lost: (node: string) => void
    /** Requests to other nodes under way. */
    readonly size: () => number
  }
>()("a2c-smcp/application/ports/NodeLink") {}
