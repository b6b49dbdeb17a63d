import { HashMap, Option } from "effect"
import type { Member, Office, Seat, Session } from "../../domain/office/membership.ts"
import { occupant } from "../../domain/office/membership.ts"
import {
  difference,
  follow,
  listed,
  move,
  type Move,
  noView,
  type Snapshot,
  type Step,
  type View,
  viewOf
} from "../../domain/office/view.ts"
import { type Change, lostSeatReason, replacedReason } from "../../application/ports/OfficeRegistry.ts"

/** A session of this node. While a join is under way its seat may change at any moment. */
interface Local {
  session: Session
  joining: { readonly office: string; readonly entered: () => void } | undefined
  /** Why it is to be put out if the join under way brings it nowhere: its seat has gone meanwhile. */
  lost: string | undefined
}

/** What came of what was heard: `"missed"` asks for a snapshot, `"stray"` for the removal of what is not ours. */
export type Heard = "known" | "missed" | "stray"

/**
 * What one node knows: its own sessions, and everybody in the offices in which they sit. Whatever it hears, members of
 * this node hear of each coming and going once; those whose seat is gone without their doing are put out. Comings and
 * goings of its own sessions are told even when nobody is to hear them.
 */
export class LocalOffices {
  readonly #node: string
  readonly #tell: (change: Change) => void
  readonly #sessions = new Map<string, Local>()
  readonly #views = new Map<string, View>()
  /** The sessions of this node in each office that has a view. */
  readonly #seated = new Map<string, Set<string>>()
  #highest = 0

  constructor(node: string, tell: (change: Change) => void) {
    this.#node = node
    this.#tell = tell
  }

  connect(session: Session): void {
    this.#sessions.set(session.sid, { session, joining: undefined, lost: undefined })
  }

  disconnect(sid: string): void {
    this.#sessions.delete(sid)
  }

  session(sid: string): Session | undefined {
    return this.#sessions.get(sid)?.session
  }

  /** A join begins: from now on the session may sit in this office; `entered` says when it does. Ends with the function. */
  joining(sid: string, office: string, entered: () => void): () => void {
    const local = this.#sessions.get(sid)
    if (local === undefined) return () => undefined
    const joining = { office, entered }
    local.joining = joining
    return () => {
      if (local.joining !== joining) return
      const { lost, session } = local
      local.joining = undefined
      local.lost = undefined
      if (lost !== undefined && Option.isNone(session.seat))
        this.#tell({ _tag: "Evicted", sid, reason: lost })
    }
  }

  /** A session gives up its seat, here and now. */
  leave(sid: string): void {
    const seat = Option.getOrUndefined(this.#sessions.get(sid)?.session.seat ?? Option.none())
    if (seat !== undefined) this.#leave({ _tag: "Left", sid, seat, replaced: false })
  }

  /** A session has lost its seat to another while this node was out of touch. */
  evict(sid: string): void {
    if (Option.isNone(this.#sessions.get(sid)?.session.seat ?? Option.none())) return
    this.leave(sid)
    this.#tell({ _tag: "Evicted", sid, reason: lostSeatReason })
  }

  /** One change of an office. */
  step(office: string, step: Step): Heard {
    this.#highest = Math.max(this.#highest, step.to)
    const view = this.#views.get(office)
    const stray = step.move._tag === "Entered" && this.#isStray(step.move.member)
    if (view === undefined) {
      if (stray) return "stray"
      return step.move._tag === "Entered" && step.move.member.node === this.#node ? "missed" : "known"
    }
    const next = follow(view, step)
    if (next === "known" || next === "missed") return next
    if (stray) {
      this.#views.set(office, { ...view, revision: step.to, asOf: step.to })
      return "stray"
    }
    this.#make(office, step.move)
    const now = this.#views.get(office)
    if (now !== undefined) this.#views.set(office, { ...now, revision: step.to, asOf: step.to })
    return "known"
  }

  /** Everybody in an office at one moment, whatever was known before. */
  replace(office: string, snapshot: Snapshot): Heard {
    this.#highest = Math.max(this.#highest, snapshot.asOf)
    const view = this.#views.get(office) ?? noView
    if (snapshot.asOf < view.asOf) return "known"
    const members = snapshot.members.filter((member) => !this.#isStray(member))
    const next = viewOf({ ...snapshot, members })
    for (const what of difference(view.office, next.office)) {
      this.#make(office, what)
      if (what._tag === "Left") this.#putOut(what.sid, lostSeatReason)
    }
    if (this.#seated.has(office)) this.#views.set(office, next)
    else this.#views.delete(office)
    return members.length === snapshot.members.length ? "known" : "stray"
  }

  computerIn(office: string, name: string): Option.Option<Member> {
    const view = this.#views.get(office)
    return view === undefined ? Option.none() : HashMap.get(view.office.computers, name)
  }

  members(office: string): ReadonlyArray<Member> {
    const view = this.#views.get(office)
    return view === undefined ? [] : listed(view.office)
  }

  /** Every office that this node follows or is about to. */
  offices(): ReadonlyArray<string> {
    const joining = [...this.#sessions.values()].flatMap((local) => local.joining?.office ?? [])
    return [...new Set([...this.#views.keys(), ...joining])]
  }

  knows(office: string): boolean {
    return this.#views.has(office)
  }

  /** {@link knows} it, or is about to since one of its sessions joins there. */
  follows(office: string): boolean {
    if (this.#views.has(office)) return true
    return [...this.#sessions.values()].some(({ joining }) => joining?.office === office)
  }

  /** Sessions that sit and stay, and those whose seat is just changing. */
  standing(): { readonly seated: ReadonlyArray<[Session, Seat]>; readonly changing: ReadonlyArray<string> } {
    const seated: Array<[Session, Seat]> = []
    const changing: Array<string> = []
    for (const { joining, session } of this.#sessions.values()) {
      if (joining !== undefined) changing.push(session.sid)
      else if (Option.isSome(session.seat)) seated.push([session, session.seat.value])
    }
    return { seated, changing }
  }

  /** The greatest revision this node has heard of. */
  highest(): number {
    return this.#highest
  }

  size(): { readonly sessions: number; readonly offices: number } {
    return { sessions: this.#sessions.size, offices: this.#views.size }
  }

  /** Entered by our name, but no session of ours wants to sit there: what was asked for has been given up meanwhile. */
  #isStray({ node, seat, sid }: Member): boolean {
    if (node !== this.#node) return false
    const local = this.#sessions.get(sid)
    if (local === undefined) return true
    if (local.joining?.office === seat.office) return false
    return !Option.exists(local.session.seat, ({ office }) => office === seat.office)
  }

  /**
   * One of our sessions has lost its seat. Where it sits elsewhere already, which a snapshot may say before the channel
   * does, or joins elsewhere, that may be its own doing, or not matter.
   */
  #putOut(sid: string, reason: string): void {
    const local = this.#sessions.get(sid)
    if (local === undefined || Option.isSome(local.session.seat)) return
    if (local.joining === undefined) this.#tell({ _tag: "Evicted", sid, reason })
    else local.lost = reason
  }

  #make(office: string, what: Move): void {
    if (what._tag === "Entered") this.#enter(what.member)
    else this.#leave(what, office)
  }

  #enter(member: Member): void {
    const { node, seat, sid } = member
    const before = this.#views.get(seat.office) ?? noView
    const office = move(before.office, { _tag: "Entered", member })
    this.#views.set(seat.office, { ...before, office })
    if (office === before.office) return
    const recipients = [...(this.#seated.get(seat.office) ?? [])]
    const local = node === this.#node ? this.#sessions.get(sid) : undefined
    if (local !== undefined) {
      local.session = { ...local.session, role: Option.some(seat.role), seat: Option.some(seat) }
      const seated = this.#seated.get(seat.office)
      if (seated === undefined) this.#seated.set(seat.office, new Set([sid]))
      else seated.add(sid)
    }
    if (recipients.length > 0 || local !== undefined) this.#tell({ _tag: "Entered", sid, seat, recipients })
    local?.joining?.entered()
  }

  #leave(what: Extract<Move, { readonly _tag: "Left" }>, id = what.seat.office): void {
    const view = this.#views.get(id)
    const sitting = view === undefined ? undefined : this.#sitting(view.office, what)
    if (view === undefined || sitting === undefined) return
    const { seat, sid } = sitting
    const local = this.#sessions.get(sid)
    if (local !== undefined && Option.exists(local.session.seat, ({ office }) => office === id)) {
      local.session = { ...local.session, seat: Option.none() }
    }
    const seated = this.#seated.get(id)
    seated?.delete(sid)
    if (seated === undefined || seated.size === 0) {
      this.#seated.delete(id)
      this.#views.delete(id)
    } else this.#views.set(id, { ...view, office: move(view.office, what) })
    this.#tell({ _tag: "Left", sid, seat, recipients: [...(seated ?? [])] })
    if (what.replaced) this.#putOut(sid, replacedReason)
  }

  #sitting(office: Office, { seat, sid }: Extract<Move, { readonly _tag: "Left" }>): Member | undefined {
    return Option.getOrUndefined(Option.filter(occupant(office, seat), (member) => member.sid === sid))
  }
}
