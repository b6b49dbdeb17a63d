import { HashMap, Option } from "effect"
import type { Member, Membership, Session } from "../model/Membership.ts"
import type { OfficeKey, SessionId } from "../model/ids.ts"
import { nameKey } from "../model/names.ts"

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

export const findOffice = (state: MembershipState, id: OfficeKey): Office =>
  Option.getOrElse(HashMap.get(state.offices, id), () => emptyOffice)

/** The member that holds a membership, or a conflicting one: another Agent, or a Computer whose name has the same key. */
export const memberAt = (office: Office, { name, role }: Membership): Option.Option<Member> =>
  role === "agent" ? office.agent : HashMap.get(office.computers, nameKey(name))

export const memberCount = ({ agent, computers }: Office): number =>
  HashMap.size(computers) + (Option.isSome(agent) ? 1 : 0)

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
