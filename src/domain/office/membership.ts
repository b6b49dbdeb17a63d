import { Data, HashMap, Option, Result } from "effect"
import type { Role } from "../protocol/v0_2/office.ts"
import { passing } from "./passing.ts"

/** A place in an office: who sits there, under which name. */
export interface Seat {
  readonly office: string
  readonly role: Role
  readonly name: string
}

/** One connection. Its role is fixed by the handshake or by its first join and never changes. */
export interface Session {
  readonly sid: string
  /** The Server of a cluster that holds the connection. */
  readonly node: string
  readonly version: string
  readonly role: Option.Option<Role>
  readonly seat: Option.Option<Seat>
  /** Proves that a newcomer is the same member come back; a secret. Empty proves nothing. */
  readonly holder: string
}

/** Somebody who sits in an office, as all Servers of a cluster know it. */
export interface Member {
  readonly sid: string
  readonly node: string
  readonly version: string
  readonly seat: Seat
  /** The revision with which it entered: later ones are greater. */
  readonly since: number
}

/** Who sits in one office: at most one Agent, and Computers by their unique names. */
export interface Office {
  readonly agent: Option.Option<Member>
  readonly computers: HashMap.HashMap<string, Member>
}

/** Everything Servers know about membership. Offices exist as long as somebody sits in them. */
export interface Offices {
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
export const unbounded: Capacity = {
  offices: Number.POSITIVE_INFINITY,
  membersPerOffice: Number.POSITIVE_INFINITY
}

export const emptyOffice: Office = { agent: Option.none(), computers: HashMap.empty() }
export const noOffices: Offices = {
  sessions: HashMap.empty(),
  offices: HashMap.empty(),
  computerNames: HashMap.empty(),
  revision: 0
}

export type Command =
  | ({ readonly _tag: "Connect" } & Pick<Session, "sid" | "node" | "version" | "role" | "holder">)
  | ({ readonly _tag: "Join"; readonly sid: string } & Seat)
  | { readonly _tag: "Leave"; readonly sid: string; readonly office: string }
  | { readonly _tag: "Disconnect"; readonly sid: string }

export type Event =
  | { readonly _tag: "Connected"; readonly session: Session }
  | { readonly _tag: "Entered"; readonly sid: string; readonly seat: Seat }
  /** `replaced`: a new connection of the same member has put this one out. */
  | { readonly _tag: "Left"; readonly sid: string; readonly seat: Seat; readonly replaced: boolean }
  | { readonly _tag: "Disconnected"; readonly sid: string }

/** Why a join or a leave is refused; `message` is what the acknowledgement says (spec §3.2, §3.3). */
export class OfficeRefusal extends Data.TaggedError("OfficeRefusal")<{
  readonly why:
    | "not connected"
    | "role mismatch"
    | "name mismatch"
    | "has an agent"
    | "agent is elsewhere"
    | "name taken"
    | "not in office"
    | "office full"
    | "too many offices"
    | "malformed"
    | "unavailable"
  readonly message: string
}> {}

type Decision = Result.Result<ReadonlyArray<Event>, OfficeRefusal>

const refusal = (why: OfficeRefusal["why"], message: string) => new OfficeRefusal({ why, message })

/** The seat is another's: an office has one Agent, and one Computer of a name. */
export const seatTaken = ({ name, office, role }: Seat): OfficeRefusal =>
  role === "agent"
    ? refusal("has an agent", "Room already has an agent")
    : refusal("name taken", `Computer with name '${name}' already exists in room '${office}'`)

/** What is needed to decide cannot be reached right now. */
export const registryUnavailable = (): OfficeRefusal =>
  refusal("unavailable", passing("The office registry is unavailable"))

/** The office has as many members as it may. */
export const officeFull = (office: string): OfficeRefusal =>
  refusal("office full", `Room '${office}' is full`)

/** There are as many offices as there may be. */
export const tooManyOffices = (): OfficeRefusal =>
  refusal("too many offices", passing("The Server has as many rooms as it may"))

const notConnected = () => refusal("not connected", "Not connected")

const officeOf = (state: Offices, id: string): Office =>
  Option.getOrElse(HashMap.get(state.offices, id), () => emptyOffice)

/** Who has a seat, or another one that it excludes: of Agents an office takes only one. */
export const occupant = (office: Office, { name, role }: Seat): Option.Option<Member> =>
  role === "agent" ? office.agent : HashMap.get(office.computers, name)

const sizeOf = ({ agent, computers }: Office): number =>
  HashMap.size(computers) + (Option.isSome(agent) ? 1 : 0)

/**
 * What a session's own history says about a join: whether the seat is its own already, or why it may not sit there
 * whoever else does.
 */
export const mayTake = (session: Session, seat: Seat): Result.Result<"new" | "own", OfficeRefusal> => {
  const role = Option.getOrElse(session.role, () => seat.role)
  if (role !== seat.role) {
    return Result.fail(
      refusal(
        "role mismatch",
        `Role mismatch: this session is ${role === "agent" ? "an agent" : "a computer"}`
      )
    )
  }
  const current = Option.getOrUndefined(session.seat)
  if (current?.office === seat.office) {
    if (current.name === seat.name) return Result.succeed("own")
    const message = `Name mismatch: already in room '${seat.office}' as '${current.name}'`
    return Result.fail(refusal("name mismatch", message))
  }
  return seat.role === "agent" && current !== undefined
    ? Result.fail(refusal("agent is elsewhere", `Already in room '${current.office}': leave it first`))
    : Result.succeed("new")
}

/** The seat that a session gives up when it leaves an office, if it sits there. */
export const mayLeave = (session: Session, office: string): Result.Result<Seat, OfficeRefusal> =>
  Option.match(session.seat, {
    onSome: (seat) =>
      seat.office === office
        ? Result.succeed(seat)
        : Result.fail(refusal("not in office", `Not in room '${office}'`)),
    onNone: () => Result.fail(refusal("not in office", `Not in room '${office}'`))
  })

/** True when both are the same member, come back on a new connection. */
const isSame = (state: Offices, { seat, sid }: Member, newcomer: Session, name: string): boolean =>
  newcomer.holder !== "" &&
  seat.name === name &&
  Option.exists(HashMap.get(state.sessions, sid), ({ holder }) => holder === newcomer.holder)

const decideJoin = (state: Offices, session: Session, seat: Seat, capacity: Capacity): Decision => {
  const { sid } = session
  const allowed = mayTake(session, seat)
  if (Result.isFailure(allowed)) return Result.fail(allowed.failure)
  if (allowed.success === "own") return Result.succeed([])
  const office = officeOf(state, seat.office)
  const before = Option.getOrUndefined(occupant(office, seat))
  if (before !== undefined && !isSame(state, before, session, seat.name)) {
    return Result.fail(seatTaken(seat))
  }
  const size = sizeOf(office)
  if (before === undefined && size >= capacity.membersPerOffice) return Result.fail(officeFull(seat.office))
  const current = Option.getOrUndefined(session.seat)
  if (size === 0) {
    const freed = current !== undefined && sizeOf(officeOf(state, current.office)) === 1 ? 1 : 0
    if (HashMap.size(state.offices) - freed >= capacity.offices) return Result.fail(tooManyOffices())
  }
  const events: Array<Event> = []
  if (before !== undefined) events.push({ _tag: "Left", sid: before.sid, seat: before.seat, replaced: true })
  if (current !== undefined) events.push({ _tag: "Left", sid, seat: current, replaced: false })
  events.push({ _tag: "Entered", sid, seat })
  return Result.succeed(events)
}

/**
 * What a command does to the offices, or why it is refused: at most one Agent per office, Computer names unique per
 * office, a Computer that joins elsewhere leaves first, and repeating a command is harmless (spec §3). A member that
 * comes back while its old connection still holds the seat takes it over.
 */
export const decide = (state: Offices, command: Command, capacity: Capacity = unbounded): Decision => {
  if (command._tag === "Connect") {
    const { holder, node, role, sid, version } = command
    return Result.succeed([
      { _tag: "Connected", session: { sid, node, version, role, seat: Option.none(), holder } }
    ])
  }
  const session = Option.getOrUndefined(HashMap.get(state.sessions, command.sid))
  if (command._tag === "Disconnect") {
    if (session === undefined) return Result.succeed([])
    const gone: Event = { _tag: "Disconnected", sid: command.sid }
    return Result.succeed(
      Option.match(session.seat, {
        onNone: () => [gone],
        onSome: (seat) => [{ _tag: "Left", sid: command.sid, seat, replaced: false }, gone]
      })
    )
  }
  if (session === undefined) return Result.fail(notConnected())
  if (command._tag === "Join") {
    const { name, office, role } = command
    return decideJoin(state, session, { name, office, role }, capacity)
  }
  return Result.map(mayLeave(session, command.office), (seat) => [
    { _tag: "Left", sid: command.sid, seat, replaced: false }
  ])
}

const isEmpty = ({ agent, computers }: Office): boolean => Option.isNone(agent) && HashMap.isEmpty(computers)

const setOffice = (
  offices: HashMap.HashMap<string, Office>,
  id: string,
  office: Office
): HashMap.HashMap<string, Office> =>
  isEmpty(office) ? HashMap.remove(offices, id) : HashMap.set(offices, id, office)

const countName = (
  names: HashMap.HashMap<string, number>,
  { name, role }: Seat,
  difference: 1 | -1
): HashMap.HashMap<string, number> => {
  if (role === "agent") return names
  const count = Option.getOrElse(HashMap.get(names, name), () => 0) + difference
  return count === 0 ? HashMap.remove(names, name) : HashMap.set(names, name, count)
}

/** An office with somebody more. */
export const occupy = (office: Office, member: Member): Office =>
  member.seat.role === "agent"
    ? { ...office, agent: Option.some(member) }
    : { ...office, computers: HashMap.set(office.computers, member.seat.name, member) }

/** An office without who sits there. */
export const vacate = (office: Office, { name, role }: Seat): Office =>
  role === "agent"
    ? { ...office, agent: Option.none() }
    : { ...office, computers: HashMap.remove(office.computers, name) }

/** The offices after an event that {@link decide} gave. */
export const evolve = (state: Offices, event: Event): Offices => {
  switch (event._tag) {
    case "Connected":
      return { ...state, sessions: HashMap.set(state.sessions, event.session.sid, event.session) }
    case "Disconnected":
      return { ...state, sessions: HashMap.remove(state.sessions, event.sid) }
    case "Entered": {
      const { seat, sid } = event
      const session = HashMap.getUnsafe(state.sessions, sid)
      const revision = state.revision + 1
      const member: Member = { sid, node: session.node, version: session.version, seat, since: revision }
      return {
        sessions: HashMap.set(state.sessions, sid, {
          ...session,
          role: Option.some(seat.role),
          seat: Option.some(seat)
        }),
        offices: setOffice(state.offices, seat.office, occupy(officeOf(state, seat.office), member)),
        computerNames: countName(state.computerNames, seat, 1),
        revision
      }
    }
    case "Left": {
      const { seat, sid } = event
      return {
        sessions: HashMap.modify(state.sessions, sid, (session) => ({ ...session, seat: Option.none() })),
        offices: setOffice(state.offices, seat.office, vacate(officeOf(state, seat.office), seat)),
        computerNames: countName(state.computerNames, seat, -1),
        revision: state.revision + 1
      }
    }
  }
}

/** Everybody in an office in no order, the Agent first. */
export const occupants = ({ agent, computers }: Office): ReadonlyArray<Member> => [
  ...Option.toArray(agent),
  ...HashMap.values(computers)
]

/** {@link occupants} of an office by its id. */
export const membersOf = (state: Offices, office: string): ReadonlyArray<Member> =>
  occupants(officeOf(state, office))

/** A Computer in an office. */
export const computerIn = (state: Offices, office: string, name: string): Option.Option<Member> =>
  HashMap.get(officeOf(state, office).computers, name)

/** Does a Computer of this name sit in an office other than this one? */
export const computerElsewhere = (state: Offices, office: string, name: string): boolean => {
  const here = Option.isSome(computerIn(state, office, name)) ? 1 : 0
  return Option.getOrElse(HashMap.get(state.computerNames, name), () => 0) > here
}
