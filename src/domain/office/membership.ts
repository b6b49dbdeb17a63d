import { HashMap, Option, Result } from "effect"
import {
  type Member,
  type Membership,
  MembershipError,
  type Session,
  makeMembershipError,
  membershipConflict,
  notConnected,
  officeFull,
  tooManyOffices
} from "../model/Membership.ts"

/** Who sits in one office: at most one Agent, and Computers by their unique names. */
export interface Office {
  readonly agent: Option.Option<Member>
  readonly computers: HashMap.HashMap<string, Member>
}

/** Everything Servers know about membership. Offices exist as long as somebody sits in them. */
export interface MembershipState {
  readonly sessions: HashMap.HashMap<string, Session>
  readonly offices: HashMap.HashMap<string, Office>
  /** How many Computers bear a name, over all offices: a stranger's guesses must not cost a search. */
  readonly computerNames: HashMap.HashMap<string, number>
  /** Counts who enters and who leaves. */
  readonly revision: number
}

/** How many offices there may be, and how many members in each. */
export interface Capacity {
  readonly offices: number
  readonly membersPerOffice: number
}

/** No bounds at all. */
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

export type MembershipCommand =
  | ({ readonly _tag: "Connect" } & Pick<Session, "sid" | "node" | "version" | "role" | "reconnectKey">)
  | ({ readonly _tag: "Join"; readonly sid: string } & Membership)
  | { readonly _tag: "Leave"; readonly sid: string; readonly office: string }
  | { readonly _tag: "Disconnect"; readonly sid: string }

export type MembershipEvent =
  | { readonly _tag: "Connected"; readonly session: Session }
  | { readonly _tag: "Entered"; readonly sid: string; readonly membership: Membership }
  /** `replaced`: a new connection of the same member has put this one out. */
  | {
      readonly _tag: "Left"
      readonly sid: string
      readonly membership: Membership
      readonly replaced: boolean
    }
  | { readonly _tag: "Disconnected"; readonly sid: string }

type Decision = Result.Result<ReadonlyArray<MembershipEvent>, MembershipError>

const findOffice = (state: MembershipState, id: string): Office =>
  Option.getOrElse(HashMap.get(state.offices, id), () => emptyOffice)

/** Who has a seat, or another one that it excludes: of Agents an office takes only one. */
export const memberAt = (office: Office, { name, role }: Membership): Option.Option<Member> =>
  role === "agent" ? office.agent : HashMap.get(office.computers, name)

const memberCount = ({ agent, computers }: Office): number =>
  HashMap.size(computers) + (Option.isSome(agent) ? 1 : 0)

/**
 * What a session's own history says about a join: whether the seat is its own already, or why it may not sit there
 * whoever else does.
 */
export const checkJoin = (
  session: Session,
  membership: Membership
): Result.Result<"new" | "own", MembershipError> => {
  const role = Option.getOrElse(session.role, () => membership.role)
  if (role !== membership.role) {
    return Result.fail(
      makeMembershipError(
        "role mismatch",
        `Role mismatch: this session is ${role === "agent" ? "an agent" : "a computer"}`
      )
    )
  }
  const current = Option.getOrUndefined(session.membership)
  if (current?.office === membership.office) {
    if (current.name === membership.name) return Result.succeed("own")
    const message = `Name mismatch: already in room '${membership.office}' as '${current.name}'`
    return Result.fail(makeMembershipError("name mismatch", message))
  }
  return membership.role === "agent" && current !== undefined
    ? Result.fail(
        makeMembershipError("agent is elsewhere", `Already in room '${current.office}': leave it first`)
      )
    : Result.succeed("new")
}

/** The seat that a session gives up when it leaves an office, if it sits there. */
export const checkLeave = (session: Session, office: string): Result.Result<Membership, MembershipError> =>
  Option.match(session.membership, {
    onSome: (membership) =>
      membership.office === office
        ? Result.succeed(membership)
        : Result.fail(makeMembershipError("not in office", `Not in room '${office}'`)),
    onNone: () => Result.fail(makeMembershipError("not in office", `Not in room '${office}'`))
  })

/** True when both are the same member, come back on a new connection. */
const isSameMember = (
  state: MembershipState,
  { membership, sid }: Member,
  newcomer: Session,
  name: string
): boolean =>
  newcomer.reconnectKey !== "" &&
  membership.name === name &&
  Option.exists(
    HashMap.get(state.sessions, sid),
    ({ reconnectKey }) => reconnectKey === newcomer.reconnectKey
  )

const decideJoin = (
  state: MembershipState,
  session: Session,
  membership: Membership,
  capacity: Capacity
): Decision => {
  const { sid } = session
  const allowed = checkJoin(session, membership)
  if (Result.isFailure(allowed)) return Result.fail(allowed.failure)
  if (allowed.success === "own") return Result.succeed([])
  const office = findOffice(state, membership.office)
  const before = Option.getOrUndefined(memberAt(office, membership))
  if (before !== undefined && !isSameMember(state, before, session, membership.name)) {
    return Result.fail(membershipConflict(membership))
  }
  const size = memberCount(office)
  if (before === undefined && size >= capacity.membersPerOffice)
    return Result.fail(officeFull(membership.office))
  const current = Option.getOrUndefined(session.membership)
  if (size === 0) {
    const freed = current !== undefined && memberCount(findOffice(state, current.office)) === 1 ? 1 : 0
    if (HashMap.size(state.offices) - freed >= capacity.offices) return Result.fail(tooManyOffices())
  }
  const events: Array<MembershipEvent> = []
  if (before !== undefined)
    events.push({ _tag: "Left", sid: before.sid, membership: before.membership, replaced: true })
  if (current !== undefined) events.push({ _tag: "Left", sid, membership: current, replaced: false })
  events.push({ _tag: "Entered", sid, membership })
  return Result.succeed(events)
}

/**
 * What a command does to the offices, or why it is refused: at most one Agent per office, Computer names unique per
 * office, a Computer that joins elsewhere leaves first, and repeating a command is harmless (spec §3). A member that
 * comes back while its old connection still holds the seat takes it over.
 */
export const decide = (
  state: MembershipState,
  command: MembershipCommand,
  capacity: Capacity = unlimitedCapacity
): Decision => {
  if (command._tag === "Connect") {
    const { reconnectKey, node, role, sid, version } = command
    return Result.succeed([
      { _tag: "Connected", session: { sid, node, version, role, membership: Option.none(), reconnectKey } }
    ])
  }
  const session = Option.getOrUndefined(HashMap.get(state.sessions, command.sid))
  if (command._tag === "Disconnect") {
    if (session === undefined) return Result.succeed([])
    const disconnected: MembershipEvent = { _tag: "Disconnected", sid: command.sid }
    return Result.succeed(
      Option.match(session.membership, {
        onNone: () => [disconnected],
        onSome: (membership) => [
          { _tag: "Left", sid: command.sid, membership, replaced: false },
          disconnected
        ]
      })
    )
  }
  if (session === undefined) return Result.fail(notConnected())
  if (command._tag === "Join") {
    const { name, office, role } = command
    return decideJoin(state, session, { name, office, role }, capacity)
  }
  return Result.map(checkLeave(session, command.office), (membership) => [
    { _tag: "Left", sid: command.sid, membership, replaced: false }
  ])
}

const isEmpty = ({ agent, computers }: Office): boolean => Option.isNone(agent) && HashMap.isEmpty(computers)

const setOffice = (
  offices: HashMap.HashMap<string, Office>,
  id: string,
  office: Office
): HashMap.HashMap<string, Office> =>
  isEmpty(office) ? HashMap.remove(offices, id) : HashMap.set(offices, id, office)

const adjustNameCount = (
  names: HashMap.HashMap<string, number>,
  { name, role }: Membership,
  difference: 1 | -1
): HashMap.HashMap<string, number> => {
  if (role === "agent") return names
  const count = Option.getOrElse(HashMap.get(names, name), () => 0) + difference
  return count === 0 ? HashMap.remove(names, name) : HashMap.set(names, name, count)
}

/** An office with somebody more. */
export const addMember = (office: Office, member: Member): Office =>
  member.membership.role === "agent"
    ? { ...office, agent: Option.some(member) }
    : { ...office, computers: HashMap.set(office.computers, member.membership.name, member) }

/** An office without who sits there. */
export const removeMember = (office: Office, { name, role }: Membership): Office =>
  role === "agent"
    ? { ...office, agent: Option.none() }
    : { ...office, computers: HashMap.remove(office.computers, name) }

/** The offices after an event that {@link decide} gave. */
export const evolve = (state: MembershipState, event: MembershipEvent): MembershipState => {
  switch (event._tag) {
    case "Connected":
      return { ...state, sessions: HashMap.set(state.sessions, event.session.sid, event.session) }
    case "Disconnected":
      return { ...state, sessions: HashMap.remove(state.sessions, event.sid) }
    case "Entered": {
      const { membership, sid } = event
      const session = HashMap.getUnsafe(state.sessions, sid)
      const revision = state.revision + 1
      const member: Member = {
        sid,
        node: session.node,
        version: session.version,
        membership,
        joinRevision: revision
      }
      return {
        sessions: HashMap.set(state.sessions, sid, {
          ...session,
          role: Option.some(membership.role),
          membership: Option.some(membership)
        }),
        offices: setOffice(
          state.offices,
          membership.office,
          addMember(findOffice(state, membership.office), member)
        ),
        computerNames: adjustNameCount(state.computerNames, membership, 1),
        revision
      }
    }
    case "Left": {
      const { membership, sid } = event
      return {
        sessions: HashMap.modify(state.sessions, sid, (session) => ({
          ...session,
          membership: Option.none()
        })),
        offices: setOffice(
          state.offices,
          membership.office,
          removeMember(findOffice(state, membership.office), membership)
        ),
        computerNames: adjustNameCount(state.computerNames, membership, -1),
        revision: state.revision + 1
      }
    }
  }
}

/** Everybody in an office in no order, the Agent first. */
export const allMembers = ({ agent, computers }: Office): ReadonlyArray<Member> => [
  ...Option.toArray(agent),
  ...HashMap.values(computers)
]

/** {@link allMembers} of an office by its id. */
export const membersOf = (state: MembershipState, office: string): ReadonlyArray<Member> =>
  allMembers(findOffice(state, office))

/** A Computer in an office. */
export const findComputer = (state: MembershipState, office: string, name: string): Option.Option<Member> =>
  HashMap.get(findOffice(state, office).computers, name)

/** Does a Computer of this name sit in an office other than this one? */
export const isComputerElsewhere = (state: MembershipState, office: string, name: string): boolean => {
  const here = Option.isSome(findComputer(state, office, name)) ? 1 : 0
  return Option.getOrElse(HashMap.get(state.computerNames, name), () => 0) > here
}
