import { Option, Result } from "effect"
import { asObject, asString } from "../../../domain/json.ts"
import { publicMembership, type PublicMembership } from "../../../domain/model/Membership.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { PageCall, PageEvent, PageMember } from "../../../domain/page/PageEvent.ts"
import { parseTraceparent } from "../../../domain/traceparent.ts"
import type { Connection } from "../connections/Connections.ts"
import { truncateText } from "../../shared/logLimits.ts"
import { callOutcome, type CompletedCall, type ObservedEvent, type StartedCall } from "../observability/observers.ts"

/** A connection as a member of an office. `now` replaces a missing time of its join. */
const toMember = (connection: Connection, { name, office, role }: PublicMembership, now: number): PageMember => {
  const { features, identity, line, registration } = connection
  const { joinedAt = now, node, sid, version } = registration.session
  const { approvals, inspection, operatorCalls } = features
  const member = { sid, node, line: line.name, office, role, name, subject: identity.subject, version, joinedAt }
  return { ...member, features: { approvals, inspection, operatorCalls } }
}

/** A connection that is in an office; `undefined` for others. */
export const toPageMember = (connection: Connection, now: number): PageMember | undefined => {
  const membership = Option.getOrUndefined(connection.registration.session.membership)
  return membership === undefined ? undefined : toMember(connection, publicMembership(membership), now)
}

/** The event of a join, a leave or a rejection; `undefined` for a join of a connection that has closed. */
export const toMembershipEvent = (
  event: ObservedEvent,
  node: string,
  connection: Connection | undefined,
  at: number
): PageEvent | undefined => {
  switch (event._tag) {
    case "Entered":
      return connection && { _tag: "Entered", member: toMember(connection, event.membership, at) }
    case "Left":
      return { _tag: "Left", sid: event.sid, at }
    case "ConnectionRejected": {
      const { code, remoteAddress } = event
      const reason = truncateText(event.reason)
      return { _tag: "Rejected", node, at, what: "connection", code, reason, remoteAddress }
    }
    case "JoinRejected":
      return { _tag: "Rejected", node, at, what: "join", reason: truncateText(event.reason), subject: event.subject }
    case "RequestRejected": {
      const { code, subject } = event
      return { _tag: "Rejected", node, at, what: "request", code, reason: truncateText(event.reason), subject }
    }
  }
}

/** The id of a call of a node. */
export const callId = (node: string, serial: number): string => `${node}/${serial}`

/** A call as the page shows it. */
export const toPageCall = (call: StartedCall, node: string): PageCall => {
  const { agent, computer, decision, event, line, reqId, request, serial, startedAt, status, subject } = call
  // The routing has parsed the head.
  const tool = asString(asObject(Result.getOrElse(request.head, () => undefined))["tool_name"])
  const trace = parseTraceparent(reqId)
  return {
    id: callId(node, serial),
    node,
    line,
    office: agent.office,
    agent: agent.name,
    subject,
    computer: truncateText(computer),
    event,
    reqId: truncateText(reqId),
    startedAt,
    ...definedOnly({ status, decision }),
    ...(tool !== undefined && { tool: truncateText(tool) }),
    ...(trace !== undefined && { traceId: trace.traceId })
  }
}

/** Larger replies, in bytes, are not parsed for their outcome. */
const maxParsedReplyBytes = 16 * 1024

/** Parses a small reply, which a node or a relay has forwarded unread, so that its outcome is known. */
export const parseReply = ({ outcome }: Pick<CompletedCall, "outcome">): void => {
  if ("_tag" in outcome || outcome.isHeadParsed || outcome.byteLength() > maxParsedReplyBytes) return
  void outcome.head
}

/** The outcome of a call. Unlike {@link callOutcome} it tells cancelled calls and timeouts from failed tools. */
export const pageOutcome = (call: Pick<CompletedCall, "outcome">): string => {
  const outcome = callOutcome(call)
  const { outcome: reply } = call
  // A large reply is not parsed: that would cost more than the routing.
  if ("_tag" in reply || !reply.isHeadParsed) return outcome
  const { _meta, meta } = asObject(Result.getOrElse(reply.head, () => undefined))
  if (_meta === undefined && meta === undefined) return outcome
  const { a2c_cancelled: isCancelled, a2c_timeout: isTimeout } = { ...asObject(_meta), ...asObject(meta) }
  if (isCancelled === true) return "cancelled"
  return isTimeout === true ? "timeout" : outcome
}
