import { HashMap, Option } from "effect"
import {
  emptyOffice,
  type Member,
  type Office,
  occupant,
  occupants,
  occupy,
  type Seat,
  vacate
} from "./membership.ts"

/** Somebody came or went. `replaced`: a new connection of the same member has put this one out. */
export type Move =
  | { readonly _tag: "Entered"; readonly member: Member }
  | { readonly _tag: "Left"; readonly sid: string; readonly seat: Seat; readonly replaced: boolean }

/** One change of an office: from the revision of its last change to its own. */
export interface Step {
  readonly from: number
  readonly to: number
  readonly move: Move
}

/** Everybody in an office at one moment. */
export interface Snapshot {
  /** The revision of the office's last change. */
  readonly revision: number
  /** The revision of everything when it was taken: what is older is in it. */
  readonly asOf: number
  readonly members: ReadonlyArray<Member>
}

/** What a Server of a cluster knows of an office. */
export interface View {
  readonly office: Office
  readonly revision: number
  readonly asOf: number
}

/** What is known of an office before anything is. */
export const noView: View = { office: emptyOffice, revision: 0, asOf: 0 }

const isThere = (office: Office, seat: Seat, sid: string): boolean =>
  Option.exists(occupant(office, seat), (member) => member.sid === sid)

/** An office after a move. One that has been made already changes nothing: the office is the same object. */
export const move = (office: Office, what: Move): Office => {
  if (what._tag === "Entered") {
    const { member } = what
    return isThere(office, member.seat, member.sid) ? office : occupy(office, member)
  }
  return isThere(office, what.seat, what.sid) ? vacate(office, what.seat) : office
}

/**
 * A view one step later. A step that the view holds already is `"known"`; after one that does not follow on the view
 * something has been `"missed"`, and only a snapshot helps.
 */
export const follow = (view: View, step: Step): View | "known" | "missed" => {
  if (step.to <= view.asOf) return "known"
  if (step.from !== view.revision) return "missed"
  return { office: move(view.office, step.move), revision: step.to, asOf: step.to }
}

/** The view that a snapshot shows. */
export const viewOf = ({ asOf, members, revision }: Snapshot): View => ({
  office: members.reduce(occupy, emptyOffice),
  revision,
  asOf
})

const byArrival = (one: Member, other: Member) => one.since - other.since

/** The moves that lead from one office to another: first who has gone, then who has come, in the order of arrival. */
export const difference = (before: Office, after: Office): ReadonlyArray<Move> => {
  const gone = occupants(before).filter(({ seat, sid }) => !isThere(after, seat, sid))
  const come = occupants(after).filter(({ seat, sid }) => !isThere(before, seat, sid))
  return [
    ...gone.map(({ seat, sid }): Move => ({ _tag: "Left", sid, seat, replaced: false })),
    ...come.toSorted(byArrival).map((member): Move => ({ _tag: "Entered", member }))
  ]
}

/** Everybody in an office: the Agent first, then the Computers in the order of their arrival. */
export const listed = ({ agent, computers }: Office): ReadonlyArray<Member> => [
  ...Option.toArray(agent),
  ...[...HashMap.values(computers)].sort(byArrival)
]
