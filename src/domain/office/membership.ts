import { Data, HashMap, Option, Result } from "effect"
import type { Role } from "../protocol/v0_2/office.ts"

/** A place in an office: who sits there, under which name. */
export interface Seat {
  readonly office: string
  readonly role: Role
  readonly name: string
}

/** One connection. Its role is fixed by the handshake or by its first join and never changes. */
export interface Session {
  readonly sid: string
  readonly version: string
  readonly role: Option.Option<Role>
  readonly seat: Option.Option<Seat>
}

/** Who sits in one office, by session id: at most one Agent, and Computers by their unique names. */
export interface Office {
  readonly agent: Option.Option<string>
  readonly computers: HashMap.HashMap<string, string>
}

/** Everything the Server knows about membership. Offices exist as long as somebody sits in them. */
export interface Offices {
  readonly sessions: HashMap.HashMap<string, Session>
  readonly offices: HashMap.HashMap<string, Office>
  /** How many Computers bear a name, over all offices: a stranger's guesses must not cost a search. */
  readonly computerNames: HashMap.HashMap<string, number>
}

export const noOffices: Offices = {
  sessions: HashMap.empty(),
  offices: HashMap.empty(),
  computerNames: HashMap.empty()
}
const emptyOffice: Office = { agent: Option.none(), computers: HashMap.empty() }

export type Command =
  | {
      readonly _tag: "Connect"
      readonly sid: string
      readonly version: string
      readonly role: Option.Option<Role>
    }
  | ({ readonly _tag: "Join"; readonly sid: string } & Seat)
  | { readonly _tag: "Leave"; readonly sid: string; readonly office: string }
  | { readonly _tag: "Disconnect"; readonly sid: string }

export type Event =
  | { readonly _tag: "Connected"; readonly session: Session }
  | { readonly _tag: "Entered"; readonly sid: string; readonly seat: Seat }
  | { readonly _tag: "Left"; readonly sid: string; readonly seat: Seat }
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
  readonly message: string
}> {}

type Decision = Result.Result<ReadonlyArray<Event>, OfficeRefusal>

const refuse = (why: OfficeRefusal["why"], message: string): Decision =>
  Result.fail(new OfficeRefusal({ why, message }))

const officeOf = (state: Offices, id: string): Office =>
  Option.getOrElse(HashMap.get(state.offices, id), () => emptyOffice)

const decideJoin = (state: Offices, session: Session, seat: Seat): Decision => {
  const { sid } = session
  const role = Option.getOrElse(session.role, () => seat.role)
  if (role !== seat.role) return refuse("role mismatch", `Role mismatch: this session is an ${role}`)
  const current = Option.getOrUndefined(session.seat)
  if (current?.office === seat.office) {
    return current.name === seat.name
      ? Result.succeed([])
      : refuse("name mismatch", `Name mismatch: already in room '${seat.office}' as '${current.name}'`)
  }
  const office = officeOf(state, seat.office)
  if (seat.role === "agent") {
    if (current !== undefined) {
      return refuse("agent is elsewhere", `Already in room '${current.office}': leave it first`)
    }
    if (Option.isSome(office.agent)) return refuse("has an agent", "Room already has an agent")
    return Result.succeed([{ _tag: "Entered", sid, seat }])
  }
  if (HashMap.has(office.computers, seat.name)) {
    return refuse("name taken", `Computer with name '${seat.name}' already exists in room '${seat.office}'`)
  }
  const entered: Event = { _tag: "Entered", sid, seat }
  return Result.succeed(current === undefined ? [entered] : [{ _tag: "Left", sid, seat: current }, entered])
}

/**
 * What a command does to the offices, or why it is refused: at most one Agent per office, Computer names unique per
 * office, a Computer that joins elsewhere leaves first, and repeating a command is harmless (spec §3).
 */
export const decide = (state: Offices, command: Command): Decision => {
  if (command._tag === "Connect") {
    const { role, sid, version } = command
    return Result.succeed([{ _tag: "Connected", session: { sid, version, role, seat: Option.none() } }])
  }
  const session = Option.getOrUndefined(HashMap.get(state.sessions, command.sid))
  if (command._tag === "Disconnect") {
    if (session === undefined) return Result.succeed([])
    const gone: Event = { _tag: "Disconnected", sid: command.sid }
    return Result.succeed(
      Option.match(session.seat, {
        onNone: () => [gone],
        onSome: (seat) => [{ _tag: "Left", sid: command.sid, seat }, gone]
      })
    )
  }
  if (session === undefined) return refuse("not connected", "Not connected")
  if (command._tag === "Join") {
    const { name, office, role } = command
    return decideJoin(state, session, { name, office, role })
  }
  return Option.match(session.seat, {
    onSome: (seat) =>
      seat.office === command.office
        ? Result.succeed([{ _tag: "Left", sid: command.sid, seat } satisfies Event])
        : refuse("not in office", `Not in room '${command.office}'`),
    onNone: () => refuse("not in office", `Not in room '${command.office}'`)
  })
}

const setOffice = (
  offices: HashMap.HashMap<string, Office>,
  id: string,
  office: Office
): HashMap.HashMap<string, Office> =>
  Option.isNone(office.agent) && HashMap.isEmpty(office.computers)
    ? HashMap.remove(offices, id)
    : HashMap.set(offices, id, office)

const countName = (
  names: HashMap.HashMap<string, number>,
  { name, role }: Seat,
  difference: 1 | -1
): HashMap.HashMap<string, number> => {
  if (role === "agent") return names
  const count = Option.getOrElse(HashMap.get(names, name), () => 0) + difference
  return count === 0 ? HashMap.remove(names, name) : HashMap.set(names, name, count)
}

const occupy = (office: Office, { name, role }: Seat, sid: string): Office =>
  role === "agent"
    ? { ...office, agent: Option.some(sid) }
    : { ...office, computers: HashMap.set(office.computers, name, sid) }

const vacate = (office: Office, { name, role }: Seat): Office =>
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
      return {
        sessions: HashMap.modify(state.sessions, sid, (session) => ({
          ...session,
          role: Option.some(seat.role),
          seat: Option.some(seat)
        })),
        offices: setOffice(state.offices, seat.office, occupy(officeOf(state, seat.office), seat, sid)),
        computerNames: countName(state.computerNames, seat, 1)
      }
    }
    case "Left": {
      const { seat, sid } = event
      return {
        sessions: HashMap.modify(state.sessions, sid, (session) => ({ ...session, seat: Option.none() })),
        offices: setOffice(state.offices, seat.office, vacate(officeOf(state, seat.office), seat)),
        computerNames: countName(state.computerNames, seat, -1)
      }
    }
  }
}

/** The session ids of everybody in an office: the Agent first, then the Computers. */
export const membersOf = (state: Offices, office: string): ReadonlyArray<string> => {
  const { agent, computers } = officeOf(state, office)
  return [...Option.toArray(agent), ...HashMap.values(computers)]
}

/** The session id of a Computer in an office. */
export const computerIn = (state: Offices, office: string, name: string): Option.Option<string> =>
  HashMap.get(officeOf(state, office).computers, name)

/** Does a Computer of this name sit in any office at all? */
export const computerAnywhere = (state: Offices, name: string): boolean =>
  HashMap.has(state.computerNames, name)
