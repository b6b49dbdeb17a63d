import { HashMap, Option } from "effect"
import { emptyOffice, type Office, memberAt, allMembers, addMember, removeMember } from "./membership.ts"
import { type Member, type Membership } from "../model/Membership.ts"

/** Somebody came or went. `replaced`: a new connection of the same member has put this one out. */
export type MembershipChange =
  | { readonly _tag: "Entered"; readonly member: Member }
  | {
      readonly _tag: "Left"
      readonly sid: string
      readonly membership: Membership
      readonly replaced: boolean
    }

/** One change of an office: from the revision of its last change to its own. */
export interface OfficeUpdate {
  readonly fromRevision: number
  readonly toRevision: number
  readonly change: MembershipChange
}

/** Everybody in an office at one moment. */
export interface OfficeSnapshot {
  /** The revision of the office's last change. */
  readonly revision: number
  /** The revision of everything when it was taken: what is older is in it. */
  readonly asOf: number
  readonly members: ReadonlyArray<Member>
}

/** What a Server of a cluster knows of an office. */
export interface OfficeReplica {
  readonly office: Office
  readonly revision: number
  readonly asOf: number
}

/** What is known of an office before anything is. */
export const emptyReplica: OfficeReplica = { office: emptyOffice, revision: 0, asOf: 0 }

const hasMember = (office: Office, membership: Membership, sid: string): boolean =>
  Option.exists(memberAt(office, membership), (member) => member.sid === sid)

/** An office after a move. One that has been made already changes nothing: the office is the same object. */
export const applyMembershipChange = (office: Office, change: MembershipChange): Office => {
  if (change._tag === "Entered") {
    const { member } = change
    return hasMember(office, member.membership, member.sid) ? office : addMember(office, member)
  }
  return hasMember(office, change.membership, change.sid) ? removeMember(office, change.membership) : office
}

/**
 * A view one step later. A step that the view holds already is `"known"`; after one that does not follow on the view
 * something has been `"missed"`, and only a snapshot helps.
 */
export const advanceReplica = (
  replica: OfficeReplica,
  update: OfficeUpdate
): OfficeReplica | "known" | "missed" => {
  if (update.toRevision <= replica.asOf) return "known"
  if (update.fromRevision !== replica.revision) return "missed"
  return {
    office: applyMembershipChange(replica.office, update.change),
    revision: update.toRevision,
    asOf: update.toRevision
  }
}

/** The view that a snapshot shows. */
export const replicaFromSnapshot = ({ asOf, members, revision }: OfficeSnapshot): OfficeReplica => ({
  office: members.reduce(addMember, emptyOffice),
  revision,
  asOf
})

const byJoinOrder = (one: Member, other: Member) => one.joinRevision - other.joinRevision

/** The moves that lead from one office to another: first who has gone, then who has come, in the order of arrival. */
export const diffOffices = (before: Office, after: Office): ReadonlyArray<MembershipChange> => {
  const left = allMembers(before).filter(({ membership, sid }) => !hasMember(after, membership, sid))
  const joined = allMembers(after).filter(({ membership, sid }) => !hasMember(before, membership, sid))
  return [
    ...left.map(
      ({ membership, sid }): MembershipChange => ({ _tag: "Left", sid, membership, replaced: false })
    ),
    ...joined.toSorted(byJoinOrder).map((member): MembershipChange => ({ _tag: "Entered", member }))
  ]
}

/** Everybody in an office: the Agent first, then the Computers in the order of their arrival. */
export const sortedMembers = ({ agent, computers }: Office): ReadonlyArray<Member> => [
  ...Option.toArray(agent),
  ...[...HashMap.values(computers)].sort(byJoinOrder)
]
