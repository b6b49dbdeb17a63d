import { Duration, Exit, Match, Option, Result, Data } from "effect"
import { asObject, asString, isJsonObject, parseJson } from "../../../domain/json.ts"
import { internalError, ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { type Body, invalidBody, jsonBody } from "../../ports/Body.ts"
import {
  LinkClosed,
  type Reply,
  type ReplyExit,
  RequestTimeout,
  SendFailed,
  type ExtendTimeout,
  type Link
} from "../../ports/Transport.ts"
import type { OfficeKey, SessionId } from "../../../domain/model/ids.ts"

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

/** What a node asks of another. All but the body travels in the event name of the transport: bodies pass unread. */
export type NodeMessage =
  /** `id` is unique among the requests of the sender. */
  | readonly [
      kind: "request",
      id: number,
      timeoutMillis: number,
      sid: RequestTarget["sid"],
      office: RequestTarget["office"],
      event: string
    ]
  /** Cancels a request. */
  | readonly [kind: "cancel", id: number]
  | readonly [kind: "notify", sids: ReadonlyArray<string>, event: string]

export const encodeNodeMessage = (message: NodeMessage): string => JSON.stringify(message)

/** Decodes the event name of a message; `undefined` when it is invalid. */
export const decodeNodeMessage = (text: string): NodeMessage | undefined => {
  const message = parseJson(text)
  const [kind, first, second, sid, office, event] = Array.isArray(message) ? (message as ReadonlyArray<unknown>) : []
  if (kind === "notify" && Array.isArray(first) && typeof second === "string") return [kind, first.map(String), second]
  if (typeof first !== "number") return undefined
  if (kind === "cancel") return [kind, first]
  if (kind !== "request" || typeof second !== "number") return undefined
  if (typeof sid !== "string" || typeof office !== "string" || typeof event !== "string") return undefined
  return [kind, first, second, sid, office, event]
}

const encodeError = ({ code, details, extra, message }: ProtocolError) => ({ code, message, details, extra })

const decodeError = (value: unknown): ProtocolError => {
  const { code, message, details, extra } = asObject(value)
  if (typeof code !== "number" || typeof message !== "string") return internalError("The other node's reply is invalid")
  const optional = { ...(isJsonObject(details) && { details }), ...(isJsonObject(extra) && { extra }) }
  return new ProtocolError({ code, message, ...optional })
}

/** True for a body without a known error. Costs no parse. */
const isUsable = (body: Body): boolean => !body.isHeadParsed || Result.isSuccess(body.head)

const encodeFailure = Match.typeTags<LinkClosed | RequestTimeout | SendFailed, object>()({
  LinkClosed: ({ reason }) => ({ closed: reason }),
  RequestTimeout: ({ timeout }) => ({ timedOut: Duration.toMillis(timeout) }),
  SendFailed: ({ error }) => ({ rejected: encodeError(error) })
})

const encodeValues = (reply: Reply): object => ({
  values: reply.map((body) =>
    Result.match(body.value(), {
      onFailure: (error) => ({ error: encodeError(error) }),
      onSuccess: (value) => ({ value })
    })
  )
})

/** The outcome of a request as an acknowledgement. One value passes unread; a second one marks any other outcome. */
export const encodeOutcome = (exit: ReplyExit): Reply => {
  if (Exit.isSuccess(exit)) {
    const [only] = exit.value
    const isPlain = exit.value.length === 1 && only !== undefined && isUsable(only)
    if (isPlain) return exit.value
  }
  const outcome = Exit.isSuccess(exit)
    ? encodeValues(exit.value)
    : Option.match(Exit.findErrorOption(exit), {
        onNone: () => ({ rejected: encodeError(internalError("Internal error")) }),
        onSome: encodeFailure
      })
  return [jsonBody(outcome), jsonBody(null)]
}

/** Decodes an acknowledgement; `undefined` when it is invalid. */
export const decodeOutcome = (reply: Reply): ReplyExit | undefined => {
  const [first] = reply
  if (first === undefined || reply.length === 1) return first && Exit.succeed(reply)
  const { closed, rejected, timedOut, values } = asObject(Result.getOrUndefined(first.value()))
  if (Array.isArray(values)) {
    return Exit.succeed(
      values
        .map(asObject)
        .map(({ error, value }) => (error === undefined ? jsonBody(value) : invalidBody(decodeError(error))))
    )
  }
  if (typeof timedOut === "number") return Exit.fail(new RequestTimeout({ timeout: Duration.millis(timedOut) }))
  if (rejected !== undefined) return Exit.fail(new SendFailed({ error: decodeError(rejected) }))
  const reason = asString(closed)
  return reason === undefined ? undefined : Exit.fail(new LinkClosed({ reason }))
}
