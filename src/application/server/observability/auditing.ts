import { type Clock, Result, UndefinedOr } from "effect"
import { asObject, asString } from "../../../domain/json.ts"
import type { AuditLog } from "../../ports/AuditLog.ts"
import { callOutcome, type CompletedCall, type MembershipEvent } from "./observers.ts"

/** Shortens a text that a client chose for a line of the audit. */
const truncate = (text: string): string => (text.length <= 256 ? text : `${text.slice(0, 255)}…`)

/** Records calls, with a digest of their arguments. */
export const auditCall =
  ({ record }: AuditLog["Service"]) =>
  (call: CompletedCall): void => {
    const { agent, computer, endedAt, event, reqId, request, startedAt, subject } = call
    const head = asObject(Result.getOrElse(request.head, () => undefined))
    record({
      time: endedAt,
      fields: {
        type: "call",
        office: agent.office,
        agent: agent.name,
        subject,
        computer: truncate(computer),
        event,
        tool: UndefinedOr.map(asString(head["tool_name"]), truncate),
        req_id: truncate(reqId),
        outcome: callOutcome(call),
        ms: Math.round((endedAt - startedAt) * 1000) / 1000
      },
      request
    })
  }

const membershipFields = (event: MembershipEvent) => {
  switch (event._tag) {
    case "Entered":
    case "Left": {
      const { name, office, role } = event.membership
      const type = event._tag === "Entered" ? "join" : "leave"
      return { type, office, role, name, subject: event.subject, sid: event.sid }
    }
    case "ConnectionRejected": {
      const { code, reason, remoteAddress, sid } = event
      return { type: "connection_refused", remote: remoteAddress, code, reason: truncate(reason), sid }
    }
    case "JoinRejected":
      return { type: "join_refused", subject: event.subject, reason: truncate(event.reason), sid: event.sid }
  }
}

/** Records joins, leaves, and rejected connections and joins. */
export const auditMembership =
  ({ record }: AuditLog["Service"], clock: Clock.Clock) =>
  (event: MembershipEvent): void =>
    record({ time: clock.currentTimeMillisUnsafe(), fields: membershipFields(event) })
