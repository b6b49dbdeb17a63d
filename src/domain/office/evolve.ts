import { HashMap, Option } from "effect"
import type { Membership, Session } from "../model/Membership.ts"
import type { MembershipEvent } from "./decide.ts"
import {
  addMember,
  findOffice,
  memberCount,
  type MembershipState,
  type Office,
  removeMember
} from "./MembershipState.ts"

const setOffice = (
  offices: HashMap.HashMap<string, Office>,
  id: string,
  office: Office
): HashMap.HashMap<string, Office> =>
  memberCount(office) === 0 ? HashMap.remove(offices, id) : HashMap.set(offices, id, office)

const adjustNameCount = (
  names: HashMap.HashMap<string, number>,
  { name, role }: Membership,
  difference: 1 | -1
): HashMap.HashMap<string, number> => {
  if (role === "agent") return names
  const count = Option.getOrElse(HashMap.get(names, name), () => 0) + difference
  return count === 0 ? HashMap.remove(names, name) : HashMap.set(names, name, count)
}

/** Applies an event of `decide` to the state. */
export const evolve = (state: MembershipState, event: MembershipEvent): MembershipState => {
  const change = (
    { membership, sid }: { readonly membership: Membership; readonly sid: string },
    difference: 1 | -1,
    updateSession: (session: Session) => Session,
    updateOffice: (office: Office) => Office
  ): MembershipState => ({
    sessions: HashMap.modify(state.sessions, sid, updateSession),
    offices: setOffice(state.offices, membership.office, updateOffice(findOffice(state, membership.office))),
    computerNames: adjustNameCount(state.computerNames, membership, difference),
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
        (session) => ({
          ...session,
          role: Option.some(membership.role),
          membership: Option.some(membership)
        }),
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
