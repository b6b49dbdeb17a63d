import { type Clock, Result } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import type { AuditFact } from "../ports/Audit.ts"
import type { EndedCall } from "./CallObservers.ts"
import type { EntryFact } from "./EntryObservers.ts"
import { outcomeOf } from "./outcome.ts"

type Note = (fact: AuditFact) => void

/** A text that a peer chose, as long as a line of the audit has room for. */
const bounded = (text: string): string => (text.length <= 256 ? text : `${text.slice(0, 255)}…`)

const toolOf = ({ request }: EndedCall): string | undefined => {
  const head = Result.getOrElse(request.head, () => undefined)
  const name = isJsonObject(head) ? head["tool_name"] : undefined
  return typeof name === "string" ? bounded(name) : undefined
}

/** Notes every call: who asked what of whom, and how it ended; of its arguments no more than a digest. */
export const callFact =
  (note: Note) =>
  (call: EndedCall): void => {
    const { agent, computer, endedAt, event, reqId, request, startedAt, subject } = call
    note({
      time: endedAt,
      facts: {
        type: "call",
        office: agent.office,
        agent: agent.name,
        subject,
        computer: bounded(computer),
        event,
        tool: toolOf(call),
        req_id: bounded(reqId),
        outcome: outcomeOf(call),
        ms: Math.round((endedAt - startedAt) * 1000) / 1000
      },
      request
    })
  }

const entry = (fact: EntryFact) => {
  switch (fact._tag) {
    case "Entered":
    case "Left": {
      const { name, office, role } = fact.seat
      const type = fact._tag === "Entered" ? "join" : "leave"
      return { type, office, role, name, subject: fact.subject, sid: fact.sid }
    }
    case "ConnectionRefused": {
      const { code, reason, remote, sid } = fact
      return { type: "connection_refused", remote, code, reason: bounded(reason), sid }
    }
    case "JoinRefused":
      return { type: "join_refused", subject: fact.subject, reason: bounded(fact.reason), sid: fact.sid }
  }
}

/** Notes who comes, who goes, and who was not let in. */
export const entryFact =
  (note: Note, clock: Clock.Clock) =>
  (fact: EntryFact): void =>
    note({ time: clock.currentTimeMillisUnsafe(), facts: entry(fact) })
