import type { MembershipCommand, Capacity } from "../../../src/domain/office/decideMembership.ts"
import type { MembershipError, Membership } from "../../../src/domain/model/Membership.ts"

/** A connected session with its membership. */
interface ModelSession {
  readonly sid: string
  readonly node: string
  readonly reconnectKey: string
  readonly subject: string
  readonly role: Membership["role"] | undefined
  readonly membership: Membership | undefined
}

/** True when a session may replace the member that holds the membership which it wants. */
const mayReplace = (session: ModelSession, holder: ModelSession, name: string, takeOver: boolean): boolean => {
  const hasName = holder.membership?.name === name
  if (hasName && session.reconnectKey !== "" && session.reconnectKey === holder.reconnectKey) return true
  if (!takeOver) return false
  return session.subject === "" ? holder.subject === "" && hasName : holder.subject === session.subject
}

/** All connected sessions; the last one joined last. */
export type ModelSessions = ReadonlyArray<ModelSession>

/** A join or leave with the notified sessions. */
export interface ModelNotification {
  readonly kind: "Entered" | "Left"
  readonly sid: string
  readonly membership: Membership
  readonly to: ReadonlyArray<string>
  /** True when a new connection of the same member replaced this one. */
  readonly replaced: boolean
}

/** The reply to a command, the notifications in order, and the sessions afterwards. */
export interface Outcome {
  readonly result: MembershipError["reason"] | "ok"
  readonly notifications: ReadonlyArray<ModelNotification>
  readonly after: ModelSessions
}

/** The members of an office in join order. */
export const modelMembersOf = (sessions: ModelSessions, office: string): ModelSessions =>
  sessions.filter(({ membership }) => membership?.office === office)

/** The members of an office in the order of lists: the Agent first. */
export const listedMembers = (sessions: ModelSessions, office: string): ModelSessions => {
  const here = modelMembersOf(sessions, office)
  return [
    ...here.filter(({ membership }) => membership?.role === "agent"),
    ...here.filter(({ membership }) => membership?.role === "computer")
  ]
}

const othersIn = (sessions: ModelSessions, office: string, sid: string): ReadonlyArray<string> =>
  modelMembersOf(sessions, office)
    .map((one) => one.sid)
    .filter((other) => other !== sid)

const unchanged = (sessions: ModelSessions): Outcome => ({ result: "ok", notifications: [], after: sessions })
const rejected = (sessions: ModelSessions, result: MembershipError["reason"]): Outcome => ({
  result,
  notifications: [],
  after: sessions
})

/** Adds a leave to an outcome, and notifies the other members (spec §3.3). */
const addLeave = (before: Outcome, sid: string, replaced = false): Outcome => {
  const membership = before.after.find((one) => one.sid === sid)?.membership
  if (membership === undefined) return before
  const notification: ModelNotification = {
    kind: "Left",
    sid,
    membership,
    to: othersIn(before.after, membership.office, sid),
    replaced
  }
  return {
    ...before,
    notifications: [...before.notifications, notification],
    after: before.after.map((one) => (one.sid === sid ? { ...one, membership: undefined } : one))
  }
}

/** Adds a join to an outcome, and notifies the other members (spec §3.2). */
const addJoin = (before: Outcome, session: ModelSession, membership: Membership): Outcome => {
  const { sid } = session
  const notification: ModelNotification = {
    kind: "Entered",
    sid,
    membership,
    to: othersIn(before.after, membership.office, sid),
    replaced: false
  }
  return {
    ...before,
    notifications: [...before.notifications, notification],
    after: [...before.after.filter((one) => one.sid !== sid), { ...session, role: membership.role, membership }]
  }
}

/** True for names that one office must not have twice. */
const looksLike = (one: string, other: string) => one.normalize("NFKC") === other.normalize("NFKC")

const join = (
  sessions: ModelSessions,
  session: ModelSession,
  membership: Membership,
  takeOver: boolean,
  capacity: Capacity
): Outcome => {
  if (session.role !== undefined && session.role !== membership.role) return rejected(sessions, "role_mismatch")
  if (session.membership !== undefined && session.membership.office === membership.office) {
    return session.membership.name === membership.name ? unchanged(sessions) : rejected(sessions, "name_mismatch")
  }
  if (session.membership !== undefined && membership.role === "agent")
    return rejected(sessions, "agent_in_other_office")

  const others = sessions.filter(({ sid }) => sid !== session.sid)
  const here = modelMembersOf(others, membership.office)
  const holder =
    membership.role === "agent"
      ? here.find((one) => one.membership?.role === "agent")
      : here.find((one) => one.membership?.role === "computer" && looksLike(one.membership.name, membership.name))
  if (holder !== undefined && !mayReplace(session, holder, membership.name, takeOver))
    return rejected(sessions, membership.role === "agent" ? "agent_exists" : "name_taken")
  if (holder === undefined && here.length >= capacity.membersPerOffice) return rejected(sessions, "office_full")
  const offices = new Set(others.flatMap((one) => (one.membership === undefined ? [] : [one.membership.office])))
  if (here.length === 0 && offices.size >= capacity.offices) return rejected(sessions, "too_many_offices")

  let outcome = unchanged(sessions)
  if (holder !== undefined) outcome = addLeave(outcome, holder.sid, true)
  outcome = addLeave(outcome, session.sid)
  return addJoin(outcome, session, membership)
}

/**
 * Decides a command by the specification (spec §3.2, §3.3), as a plain list with conditions. It shares only names
 * with the implementation. Choices beyond the specification: a join is checked against its session first, then
 * against the current member, then against the capacity. Names that are equal after NFKC conflict. A session with the same name and the same secret takes over
 * the membership. On request, so does a session of the same subject, or without authentication one of the same name.
 */
export const expectedOutcome = (sessions: ModelSessions, command: MembershipCommand, capacity: Capacity): Outcome => {
  if (command._tag === "Connect") {
    const { reconnectKey, node, role, sid, subject } = command
    const session = {
      sid,
      node,
      reconnectKey,
      subject,
      role: role._tag === "Some" ? role.value : undefined,
      membership: undefined
    }
    return unchanged([...sessions, session])
  }
  const session = sessions.find(({ sid }) => sid === command.sid)
  if (command._tag === "Disconnect") {
    const outcome = addLeave(unchanged(sessions), command.sid)
    return { ...outcome, after: outcome.after.filter(({ sid }) => sid !== command.sid) }
  }
  if (session === undefined) return rejected(sessions, "not_connected")
  if (command._tag === "Leave") {
    return session.membership?.office === command.office
      ? addLeave(unchanged(sessions), command.sid)
      : rejected(sessions, "not_in_office")
  }
  const { name, office, role, takeOver = false } = command
  return join(sessions, session, { name, office, role }, takeOver, capacity)
}
