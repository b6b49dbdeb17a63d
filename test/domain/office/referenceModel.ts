import type { MembershipCommand } from "../../../src/domain/office/decide.ts"
import type { Capacity } from "../../../src/domain/office/MembershipState.ts"
import type { MembershipError, Membership } from "../../../src/domain/model/Membership.ts"

/** A connected session with its membership. */
interface Person {
  readonly sid: string
  readonly node: string
  readonly reconnectKey: string
  readonly role: Membership["role"] | undefined
  readonly membership: Membership | undefined
}

/** All connected sessions; the last one joined last. */
export type People = ReadonlyArray<Person>

/** A join or leave with the notified sessions. */
export interface Notice {
  readonly what: "Entered" | "Left"
  readonly sid: string
  readonly membership: Membership
  readonly to: ReadonlyArray<string>
  /** True when a new connection of the same member replaced this one. */
  readonly replaced: boolean
}

/** The reply to a command, the notifications in order, and the sessions afterwards. */
export interface Answer {
  readonly says: MembershipError["reason"] | "ok"
  readonly notices: ReadonlyArray<Notice>
  readonly after: People
}

/** The members of an office in join order. */
export const sitting = (people: People, office: string): People =>
  people.filter(({ membership }) => membership?.office === office)

/** The members of an office in the order of lists: the Agent first. */
export const listing = (people: People, office: string): People => {
  const here = sitting(people, office)
  return [
    ...here.filter(({ membership }) => membership?.role === "agent"),
    ...here.filter(({ membership }) => membership?.role === "computer")
  ]
}

const othersIn = (people: People, office: string, sid: string): ReadonlyArray<string> =>
  sitting(people, office)
    .map((one) => one.sid)
    .filter((other) => other !== sid)

const nothing = (people: People): Answer => ({ says: "ok", notices: [], after: people })
const refused = (people: People, says: MembershipError["reason"]): Answer => ({
  says,
  notices: [],
  after: people
})

/** Adds a leave to an outcome, and notifies the other members (spec §3.3). */
const getUp = (before: Answer, sid: string, replaced = false): Answer => {
  const membership = before.after.find((one) => one.sid === sid)?.membership
  if (membership === undefined) return before
  const notice: Notice = {
    what: "Left",
    sid,
    membership,
    to: othersIn(before.after, membership.office, sid),
    replaced
  }
  return {
    ...before,
    notices: [...before.notices, notice],
    after: before.after.map((one) => (one.sid === sid ? { ...one, membership: undefined } : one))
  }
}

/** Adds a join to an outcome, and notifies the other members (spec §3.2). */
const sitDown = (before: Answer, person: Person, membership: Membership): Answer => {
  const { sid } = person
  const notice: Notice = {
    what: "Entered",
    sid,
    membership,
    to: othersIn(before.after, membership.office, sid),
    replaced: false
  }
  return {
    ...before,
    notices: [...before.notices, notice],
    after: [
      ...before.after.filter((one) => one.sid !== sid),
      { ...person, role: membership.role, membership }
    ]
  }
}

const join = (people: People, person: Person, membership: Membership, capacity: Capacity): Answer => {
  if (person.role !== undefined && person.role !== membership.role) return refused(people, "role_mismatch")
  if (person.membership !== undefined && person.membership.office === membership.office) {
    return person.membership.name === membership.name ? nothing(people) : refused(people, "name_mismatch")
  }
  if (person.membership !== undefined && membership.role === "agent")
    return refused(people, "agent_in_other_office")

  const others = people.filter(({ sid }) => sid !== person.sid)
  const here = sitting(others, membership.office)
  const rival =
    membership.role === "agent"
      ? here.find((one) => one.membership?.role === "agent")
      : here.find((one) => one.membership?.role === "computer" && one.membership.name === membership.name)
  if (rival !== undefined) {
    const isBack =
      person.reconnectKey !== "" &&
      rival.reconnectKey === person.reconnectKey &&
      rival.membership?.name === membership.name
    if (!isBack) return refused(people, membership.role === "agent" ? "agent_exists" : "name_taken")
  }
  if (rival === undefined && here.length >= capacity.membersPerOffice) return refused(people, "office_full")
  const offices = new Set(
    others.flatMap((one) => (one.membership === undefined ? [] : [one.membership.office]))
  )
  if (here.length === 0 && offices.size >= capacity.offices) return refused(people, "too_many_offices")

  let answer = nothing(people)
  if (rival !== undefined) answer = getUp(answer, rival.sid, true)
  answer = getUp(answer, person.sid)
  return sitDown(answer, person, membership)
}

/**
 * Decides a command by the specification (spec §3.2, §3.3), as a plain list with conditions. It shares only names
 * with the implementation. Choices beyond the specification: a join is checked against its session first, then
 * against the current member, then against the capacity. A session with the same name and the same secret takes over
 * the membership.
 */
export const answerTo = (people: People, command: MembershipCommand, capacity: Capacity): Answer => {
  if (command._tag === "Connect") {
    const { reconnectKey, node, role, sid } = command
    const person = {
      sid,
      node,
      reconnectKey,
      role: role._tag === "Some" ? role.value : undefined,
      membership: undefined
    }
    return nothing([...people, person])
  }
  const person = people.find(({ sid }) => sid === command.sid)
  if (command._tag === "Disconnect") {
    const answer = getUp(nothing(people), command.sid)
    return { ...answer, after: answer.after.filter(({ sid }) => sid !== command.sid) }
  }
  if (person === undefined) return refused(people, "not_connected")
  if (command._tag === "Leave") {
    return person.membership?.office === command.office
      ? getUp(nothing(people), command.sid)
      : refused(people, "not_in_office")
  }
  const { name, office, role } = command
  return join(people, person, { name, office, role }, capacity)
}
