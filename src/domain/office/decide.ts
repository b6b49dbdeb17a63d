import { HashMap, Option, Result } from "effect"
import {
  type Membership,
  type MembershipError,
  makeMembershipError,
  membershipConflict,
  notConnected,
  officeFull,
  type Session,
  tooManyOffices
} from "../model/Membership.ts"
import {
  addMember,
  type Capacity,
  emptyOffice,
  findOffice,
  memberAt,
  memberCount,
  type MembershipState,
  type Office,
  removeMember,
  unlimitedCapacity
} from "./MembershipState.ts"

export type MembershipCommand =
  | ({ readonly _tag: "Connect" } & Pick<Session, "sid" | "node" | "version" | "role" | "reconnectKey">)
  | ({ readonly _tag: "Join"; readonly sid: string } & Membership)
  | { readonly _tag: "Leave"; readonly sid: string; readonly office: string }
  | { readonly _tag: "Disconnect"; readonly sid: string }

export type MembershipEvent =
  | { readonly _tag: "Connected"; readonly session: Session }
  | { readonly _tag: "Entered"; readonly sid: string; readonly membership: Membership }
  /** `replaced`: a new connection of the same member took the membership over. */
  | { readonly _tag: "Left"; readonly sid: string; readonly membership: Membership; readonly replaced: boolean }
  | { readonly _tag: "Disconnected"; readonly sid: string }

type Decision = Result.Result<ReadonlyArray<MembershipEvent>, MembershipError>

const reject = (reason: MembershipError["reason"], message: string) => Result.fail(makeMembershipError(reason, message))

const left = (sid: string, membership: Membership, replaced = false): MembershipEvent => ({
  _tag: "Left",
  sid,
  membership,
  replaced
})

/** Checks a join against the session alone. `unchanged`: the session has this membership already. */
export const checkJoin = (
  session: Session,
  membership: Membership
): Result.Result<"new" | "unchanged", MembershipError> => {
  const role = Option.getOrElse(session.role, () => membership.role)
  if (role !== membership.role) {
    const message = `Role mismatch: this session is ${role === "agent" ? "an agent" : "a computer"}`
    return reject("role_mismatch", message)
  }
  const current = Option.getOrUndefined(session.membership)
  if (current === undefined) return Result.succeed("new")
  if (current.office !== membership.office) {
    return role === "agent"
      ? reject("agent_in_other_office", `Already in room '${current.office}': leave it first`)
      : Result.succeed("new")
  }
  return current.name === membership.name
    ? Result.succeed("unchanged")
    : reject("name_mismatch", `Name mismatch: already in room '${membership.office}' as '${current.name}'`)
}

export const checkLeave = (session: Session, office: string): Result.Result<Membership, MembershipError> =>
  Result.fromOption(
    Option.filter(session.membership, (membership) => membership.office === office),
    () => makeMembershipError("not_in_office", `Not in room '${office}'`)
  )

const decideJoin = (state: MembershipState, session: Session, membership: Membership, capacity: Capacity): Decision => {
  const { reconnectKey, sid } = session
  const allowed = checkJoin(session, membership)
  if (Result.isFailure(allowed)) return Result.fail(allowed.failure)
  if (allowed.success === "unchanged") return Result.succeed([])
  const office = findOffice(state, membership.office)
  const before = Option.getOrUndefined(memberAt(office, membership))
  const isTakeover =
    before?.membership.name === membership.name &&
    reconnectKey !== "" &&
    Option.exists(HashMap.get(state.sessions, before.sid), (other) => other.reconnectKey === reconnectKey)
  if (before !== undefined && !isTakeover) return Result.fail(membershipConflict(membership))
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
    { _tag: "Entered", sid, membership }
  ])
}

/**
 * Decides the events of a command, or why it is rejected (spec §3). An office has at most one Agent, and Computers with
 * unique keys of their names. A Computer that joins another office leaves the first one. Repeating a command is harmless.
 * A new connection of the same member takes over the membership of its old connection.
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
    return decideJoin(state, session, { name, office, role }, capacity)
  }
  return Result.map(checkLeave(session, command.office), (membership) => [left(sid, membership)])
}

/** Applies an event of {@link decide} to the state. */
export const evolve = (state: MembershipState, event: MembershipEvent): MembershipState => {
  const change = (
    { membership: { name, office, role }, sid }: { readonly membership: Membership; readonly sid: string },
    difference: 1 | -1,
    updateSession: (session: Session) => Session,
    updateOffice: (office: Office) => Office
  ): MembershipState => ({
    sessions: HashMap.modify(state.sessions, sid, updateSession),
    offices: HashMap.modifyAt(state.offices, office, (before) =>
      Option.liftPredicate(updateOffice(Option.getOrElse(before, () => emptyOffice)), (after) => memberCount(after) > 0)
    ),
    computerNames:
      role === "agent"
        ? state.computerNames
        : HashMap.modifyAt(state.computerNames, name, (count) =>
            Option.liftPredicate(Option.getOrElse(count, () => 0) + difference, (after) => after > 0)
          ),
    revision: state.revision + 1
  })
  switch (event._tag) {
    case "Connected":
      return { ...state, sessions: HashMap.set(state.sessions, event.session.sid, event.session) }
    case "Disconnected":
      return { ...state, sessions: HashMap.remove(state.sessions, event.sid) }
    case "Entered": {
      const { membership, sid } = event
      const { node, version } = HashMap.getUnsafe(state.sessions, sid)
      const member = { sid, node, version, membership, joinRevision: state.revision + 1 }
      return change(
        event,
        1,
        (session) => ({ ...session, role: Option.some(membership.role), membership: Option.some(membership) }),
        (office) => addMember(office, member)
      )
    }
    case "Left":
      return change(
        event,
        -1,
        (session) => ({ ...session, membership: Option.none() }),
        (office) => removeMember(office, event.membership)
      )
  }
}
