import { Data, type Duration, type Exit } from "effect"
import type { OfficeKey, SessionId } from "../../../domain/model/officeKey.ts"
import type { Body } from "../../ports/Body.ts"
import type { ExtendTimeout, Link, LinkClosed, Reply, RequestTimeout, SendFailed } from "../../ports/Transport.ts"

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
  readonly sid: SessionId
  readonly office: OfficeKey
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

/**
 * Sends a request to a member of another node. Calls `onReply` exactly once, and never before this returns. The
 * returned function cancels the request at both nodes. Fails with:
 *
 * - {@link NodeUnreachable}, when the node or the link to it is lost: at once when an attempt to open it has just failed
 * - {@link SendFailed}, when the other node reads too slowly
 * - {@link RequestTimeout}, at the latest a few seconds after the timeout, which the other node enforces. `extend`
 *   extends it at this node; the other node extends its own
 */
export type StartNodeRequest = (
  node: string,
  to: RequestTarget,
  event: string,
  body: Body,
  timeout: Duration.Duration,
  onReply: (exit: NodeReplyExit) => void,
  extend?: ExtendTimeout
) => () => void
