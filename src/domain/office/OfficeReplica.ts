import { HashMap, Option } from "effect"
import type { Member, Membership } from "../model/Membership.ts"
import { computeOnce } from "../objects.ts"
import {
  type MembershipEvent,
  addMember,
  allMembers,
  emptyOffice,
  memberAt,
  type Office,
  removeMember
} from "./decideMembership.ts"

export type MembershipChange =
  | { readonly _tag: "Entered"; readonly member: Member }
  | Extract<MembershipEvent, { readonly _tag: "Left" }>

/** One change of an office, with the revision of the change before it and its own. */
export interface OfficeUpdate {
  readonly fromRevision: number
  readonly toRevision: number
  readonly change: MembershipChange
}

export interface OfficeSnapshot {
  /** The revision of the office's last change. */
  readonly revision: number
  /** The revision of the whole state at that moment: the snapshot contains all older changes. */
  readonly asOf: number
  readonly members: ReadonlyArray<Member>
}

/** A node's copy of an office. */
export interface OfficeReplica extends Omit<OfficeSnapshot, "members"> {
  readonly office: Office
}

export const emptyReplica: OfficeReplica = { office: emptyOffice, revision: 0, asOf: 0 }

const hasMember = (office: Office, membership: Membership, sid: string): boolean =>
  Option.exists(memberAt(office, membership), (member) => member.sid === sid)

/** Applies a change to an office. A change that was applied before gives the same object. */
export const applyMembershipChange = (office: Office, change: MembershipChange): Office => {
  if (change._tag === "Entered") {
    const { member } = change
    return hasMember(office, member.membership, member.sid) ? office : addMember(office, member)
  }
  return hasMember(office, change.membership, change.sid) ? removeMember(office, change.membership) : office
}

/** `known`: the replica contains the update already; `gap`: an update before it is missing, only a snapshot helps. */
export const advanceReplica = (replica: OfficeReplica, update: OfficeUpdate): OfficeReplica | "known" | "gap" => {
  if (update.toRevision <= replica.asOf) return "known"
  if (update.fromRevision !== replica.revision) return "gap"
  const { change, toRevision } = update
  return { office: applyMembershipChange(replica.office, change), revision: toRevision, asOf: toRevision }
}

export const replicaFromSnapshot = ({ asOf, members, revision }: OfficeSnapshot): OfficeReplica => ({
  office: members.reduce(addMember, emptyOffice),
  revision,
  asOf
})

const byJoinOrder = (one: Member, other: Member) => one.joinRevision - other.joinRevision

/** The changes from one office to another: leaves first, then joins in join order. */
export const diffOffices = (before: Office, after: Office): ReadonlyArray<MembershipChange> => {
  const left = allMembers(before).filter(({ membership, sid }) => !hasMember(after, membership, sid))
  const joined = allMembers(after).filter(({ membership, sid }) => !hasMember(before, membership, sid))
  return [
    ...left.map(({ membership, sid }): MembershipChange => ({ _tag: "Left", sid, membership, replaced: false })),
    ...joined.toSorted(byJoinOrder).map((member): MembershipChange => ({ _tag: "Entered", member }))
  ]
}

/** All members of an office: the Agent first, then the Computers in join order. Every notification needs them. */
export const sortedMembers = computeOnce(
  ({ agent, computers }: Office): ReadonlyArray<Member> => [
    ...Option.toArray(agent),
    ...[...HashMap.values(computers)].sort(byJoinOrder)
  ]
)
