import { HashMap, Option, Result } from "effect"
import {
  type Member,
  type Membership,
  type Session,
  type MembershipError,
  makeMembershipError,
  notConnected,
  officeFull,
  someRole,
  tooManyOffices
} from "../model/Membership.ts"
import { type OfficeKey, type SessionId, officeIdOf } from "../model/ids.ts"
import { nameKey } from "../model/names.ts"
import { membershipConflict } from "./membershipConflict.ts"

/** The members of one office: at most one Agent, and Computers by the unique keys of their names. */
export interface Office {
  readonly agent: Option.Option<Member>
  readonly computers: HashMap.HashMap<string, Member>
}

/** Sessions and offices of all Servers of a cluster. An office exists while it has members. */
export interface MembershipState {
  readonly sessions: HashMap.HashMap<SessionId, Session>
  readonly offices: HashMap.HashMap<OfficeKey, Office>
  /** The number of Computers with a name, over all offices: looking up a guessed name must not cost a search. */
  readonly computerNames: HashMap.HashMap<string, number>
  /** The number of joins and leaves so far. */
  readonly revision: number
}

/** The maximum number of offices, and of members in each. */
export interface Capacity {
  readonly offices: number
  readonly membersPerOffice: number
}

export const unlimitedCapacity: Capacity = {
  offices: Number.POSITIVE_INFINITY,
  membersPerOffice: Number.POSITIVE_INFINITY
}

export const emptyOffice: Office = { agent: Option.none(), computers: HashMap.empty() }

export const emptyMembershipState: MembershipState = {
  sessions: HashMap.empty(),
  offices: HashMap.empty(),
  computerNames: HashMap.empty(),
  revision: 0
}

const findOffice = (state: MembershipState, id: OfficeKey): Office =>
  Option.getOrElse(HashMap.get(state.offices, id), () => emptyOffice)

/** The member that holds a membership, or a conflicting one: another Agent, or a Computer whose name has the same key. */
export const memberAt = (office: Office, { name, role }: Membership): Option.Option<Member> =>
  role === "agent" ? office.agent : HashMap.get(office.computers, nameKey(name))

const memberCount = ({ agent, computers }: Office): number => HashMap.size(computers) + (Option.isSome(agent) ? 1 : 0)

export const addMember = (office: Office, member: Member): Office =>
  member.membership.role === "agent"
    ? { ...office, agent: Option.some(member) }
    : { ...office, computers: HashMap.set(office.computers, nameKey(member.membership.name), member) }

/** Removes the member that {@link memberAt} finds. */
export const removeMember = (office: Office, { name, role }: Membership): Office =>
  role === "agent"
    ? { ...office, agent: Option.none() }
    : { ...office, computers: HashMap.remove(office.computers, nameKey(name)) }

/** All members of an office: the Agent first, Computers in no order. */
export const allMembers = ({ agent, computers }: Office): ReadonlyArray<Member> => [
  ...Option.toArray(agent),
  ...HashMap.values(computers)
]

/** {@link allMembers} of an office by its id. */
export const membersOf = (state: MembershipState, office: OfficeKey): ReadonlyArray<Member> =>
  allMembers(findOffice(state, office))

/** The Computer with exactly this name (spec §1). */
export const computerNamed = ({ computers }: Office, name: string): Option.Option<Member> =>
  Option.filter(HashMap.get(computers, nameKey(name)), ({ membership }) => membership.name === name)

/** {@link computerNamed} of an office by its id. */
export const findComputer = (state: MembershipState, office: OfficeKey, name: string): Option.Option<Member> =>
  computerNamed(findOffice(state, office), name)

export const isComputerElsewhere = (state: MembershipState, office: OfficeKey, name: string): boolean => {
  const here = Option.isSome(findComputer(state, office, name)) ? 1 : 0
  return Option.exists(HashMap.get(state.computerNames, name), (count) => count > here)
}

/** How a session joins. */
export interface JoinTerms {
  /** The time of the join in epoch milliseconds. */
  readonly at?: number | undefined
  /** Replaces a member of the same identity; only on request. */
  readonly takeOver?: boolean
}

export type MembershipCommand =
  | ({ readonly _tag: "Connect" } & Pick<Session, "sid" | "node" | "version" | "role" | "reconnectKey" | "subject">)
  | ({ readonly _tag: "Join"; readonly sid: SessionId } & Membership & JoinTerms)
  | { readonly _tag: "Leave"; readonly sid: SessionId; readonly office: OfficeKey }
  | { readonly _tag: "Disconnect"; readonly sid: SessionId }

export type MembershipEvent =
  | { readonly _tag: "Connected"; readonly session: Session }
  | ({ readonly _tag: "Entered"; readonly sid: SessionId; readonly membership: Membership } & Pick<JoinTerms, "at">)
  /** `replaced`: a new connection of the same member took the membership over. */
  | { readonly _tag: "Left"; readonly sid: SessionId; readonly membership: Membership; readonly replaced: boolean }
  | { readonly _tag: "Disconnected"; readonly sid: SessionId }

type Decision = Result.Result<ReadonlyArray<MembershipEvent>, MembershipError>

const reject = (reason: MembershipError["reason"], message: string) => Result.fail(makeMembershipError(reason, message))

const left = (sid: SessionId, membership: Membership, replaced = false): MembershipEvent => ({
  _tag: "Left",
  sid,
  membership,
  replaced
})

/** Checks a join against the session alone: true unless the session has this membership already. */
export const checkJoin = (session: Session, membership: Membership): Result.Result<boolean, MembershipError> => {
  const role = Option.getOrElse(session.role, () => membership.role)
  if (role !== membership.role) {
    const message = `Role mismatch: this session is ${role === "agent" ? "an agent" : "a computer"}`
    return reject("role_mismatch", message)
  }
  const current = Option.getOrUndefined(session.membership)
  if (current === undefined) return Result.succeed(true)
  if (current.office !== membership.office) {
    return role === "agent"
      ? reject("agent_in_other_office", `Already in office '${officeIdOf(current.office)}': leave it first`)
      : Result.succeed(true)
  }
  return current.name === membership.name
    ? Result.succeed(false)
    : reject(
        "name_mismatch",
        `Name mismatch: already in office '${officeIdOf(membership.office)}' as '${current.name}'`
      )
}

export const checkLeave = (session: Session, office: OfficeKey): Result.Result<Membership, MembershipError> =>
  Result.fromOption(
    Option.filter(session.membership, (membership) => membership.office === office),
    () => makeMembershipError("not_in_office", `Not in room '${officeIdOf(office)}'`)
  )

/** True for two sessions of one subject. Without authentication the names must also be equal. */
const isSameIdentity = (session: Session, other: Session, hasSameName: boolean): boolean =>
  session.subject === other.subject && (session.subject !== "" || hasSameName)

/** True when a session may replace a member: with its reconnect key, or on request with the same identity. */
const mayReplace = (session: Session, { name }: Membership, takeOver: boolean, before: Member, other: Session) => {
  const hasSameName = before.membership.name === name
  const { reconnectKey } = session
  if (takeOver && isSameIdentity(session, other, hasSameName)) return true
  return hasSameName && reconnectKey !== "" && reconnectKey === other.reconnectKey
}

const decideJoin = (
  state: MembershipState,
  session: Session,
  membership: Membership,
  { at, takeOver = false }: JoinTerms,
  capacity: Capacity
): Decision => {
  const { sid } = session
  const isNew = checkJoin(session, membership)
  if (Result.isFailure(isNew)) return Result.fail(isNew.failure)
  if (!isNew.success) return Result.succeed([])
  const office = findOffice(state, membership.office)
  const before = Option.getOrUndefined(memberAt(office, membership))
  if (before !== undefined) {
    const other = HashMap.get(state.sessions, before.sid)
    if (!Option.exists(other, (found) => mayReplace(session, membership, takeOver, before, found))) {
      const { joinedAt, membership: current } = before
      return Result.fail(membershipConflict(membership, { name: current.name, joinedAt }))
    }
  }
  const size = memberCount(office)
  if (before === undefined && size >= capacity.membersPerOffice) return Result.fail(officeFull(membership.office))
  const current = Option.getOrUndefined(session.membership)
  if (size === 0) {
    const freed = current !== undefined && memberCount(findOffice(state, current.office)) === 1 ? 1 : 0
    if (HashMap.size(state.offices) - freed >= capacity.offices) return Result.fail(tooManyOffices())
  }
  return Result.succeed([
    ...(before === undefined ? [] : [left(before.sid, before.membership, true)]),
    ...(current === undefined ? [] : [left(sid, current)]),
    { _tag: "Entered", sid, membership, at }
  ])
}

/**
 * Decides the events of a command, or why it is rejected (spec §3). An office has at most one Agent, and Computers with
 * unique keys of their names. A Computer that joins another office leaves the first one. Repeating a command is harmless.
 * A new connection of the same member takes over the membership of its old connection, and on request that of another
 * connection of the same identity.
 */
export const decide = (
  state: MembershipState,
  command: MembershipCommand,
  capacity: Capacity = unlimitedCapacity
): Decision => {
  if (command._tag === "Connect") {
    const { reconnectKey, node, role, sid, subject, version } = command
    const session = { sid, node, version, role, membership: Option.none(), joinedAt: undefined, reconnectKey, subject }
    return Result.succeed([{ _tag: "Connected", session }])
  }
  const { sid } = command
  const session = Option.getOrUndefined(HashMap.get(state.sessions, sid))
  if (command._tag === "Disconnect") {
    if (session === undefined) return Result.succeed([])
    return Result.succeed([
      ...Option.toArray(session.membership).map((membership) => left(sid, membership)),
      { _tag: "Disconnected", sid }
    ])
  }
  if (session === undefined) return Result.fail(notConnected())
  if (command._tag === "Join") {
    const { name, office, role } = command
    return decideJoin(state, session, { name, office, role }, command, capacity)
  }
  return Result.map(checkLeave(session, command.office), (membership) => [left(sid, membership)])
}

/** Applies an event of {@link decide} to the state. */
export const evolve = (state: MembershipState, event: MembershipEvent): MembershipState => {
  if (event._tag === "Connected")
    return { ...state, sessions: HashMap.set(state.sessions, event.session.sid, event.session) }
  if (event._tag === "Disconnected") return { ...state, sessions: HashMap.remove(state.sessions, event.sid) }
  const { membership, sid } = event
  const { name, office, role } = membership
  const session = HashMap.getUnsafe(state.sessions, sid)
  const { node, version } = session
  const revision = state.revision + 1
  const step = event._tag === "Entered" ? 1 : -1
  const countName = (count: Option.Option<number>) =>
    Option.liftPredicate(Option.getOrElse(count, () => 0) + step, (after) => after > 0)
  const before = findOffice(state, office)
  const after =
    event._tag === "Left"
      ? removeMember(before, membership)
      : addMember(before, { sid, node, version, membership, joinRevision: revision, joinedAt: event.at })
  const placed =
    event._tag === "Left"
      ? { ...session, membership: Option.none() }
      : { ...session, role: someRole[role], membership: Option.some(membership), joinedAt: event.at }
  return {
    sessions: HashMap.set(state.sessions, sid, placed),
    offices: memberCount(after) > 0 ? HashMap.set(state.offices, office, after) : HashMap.remove(state.offices, office),
    computerNames: role === "agent" ? state.computerNames : HashMap.modifyAt(state.computerNames, name, countName),
    revision
  }
}
