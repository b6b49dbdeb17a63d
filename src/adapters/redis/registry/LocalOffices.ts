import { HashMap, Option } from "effect"
import { memberAt, type Office } from "../../../domain/office/membership.ts"
import type { Member, Membership, Session } from "../../../domain/model/Membership.ts"
import {
  diffOffices,
  advanceReplica,
  sortedMembers,
  applyMembershipChange,
  type MembershipChange,
  emptyReplica,
  type OfficeSnapshot,
  type OfficeUpdate,
  type OfficeReplica,
  replicaFromSnapshot
} from "../../../domain/office/OfficeReplica.ts"
import {
  type Registration,
  type RegistryChange,
  membershipLostReason,
  takeoverReason
} from "../../../application/ports/OfficeRegistry.ts"

/** A session of this node. While a join is under way its seat may change at any moment. */
interface LocalSession {
  session: Session
  joining: { readonly office: string; readonly onEntered: () => void } | undefined
  /** Why it is to be put out if the join under way brings it nowhere: its seat has gone meanwhile. */
  pendingEviction: string | undefined
}

/** What came of what was heard: `"missed"` asks for a snapshot, `"stray"` for the removal of what is not ours. */
export type ApplyResult = "known" | "missed" | "stray"

/**
 * What one node knows: its own sessions, and everybody in the offices in which they sit. Whatever it hears, members of
 * this node hear of each coming and going once; those whose seat is gone without their doing are put out. Comings and
 * goings of its own sessions are told even when nobody is to hear them.
 */
export class LocalOffices {
  readonly #node: string
  readonly #emit: (change: RegistryChange) => void
  readonly #sessions = new Map<string, LocalSession>()
  readonly #replicas = new Map<string, OfficeReplica>()
  /** The sessions of this node in each office that has a view. */
  readonly #localMembers = new Map<string, Set<string>>()
  #highestRevision = 0

  constructor(node: string, emit: (change: RegistryChange) => void) {
    this.#node = node
    this.#emit = emit
  }

  connect(session: Session): Registration {
    const local: LocalSession = { session, joining: undefined, pendingEviction: undefined }
    this.#sessions.set(session.sid, local)
    return local
  }

  disconnect(sid: string): void {
    this.#sessions.delete(sid)
  }

  session(sid: string): Session | undefined {
    return this.#sessions.get(sid)?.session
  }

  /** A join begins: from now on the session may sit in this office; `entered` says when it does. Ends with the function. */
  beginJoin(sid: string, office: string, onEntered: () => void): () => void {
    const local = this.#sessions.get(sid)
    if (local === undefined) return () => undefined
    const joining = { office, onEntered }
    local.joining = joining
    return () => {
      if (local.joining !== joining) return
      const { pendingEviction, session } = local
      local.joining = undefined
      local.pendingEviction = undefined
      if (pendingEviction !== undefined && Option.isNone(session.membership))
        this.#emit({ _tag: "Evicted", sid, reason: pendingEviction })
    }
  }

  /** A session gives up its seat, here and now. */
  leave(sid: string): void {
    const membership = Option.getOrUndefined(this.#sessions.get(sid)?.session.membership ?? Option.none())
    if (membership !== undefined) this.#removeMember({ _tag: "Left", sid, membership, replaced: false })
  }

  /** A session has lost its seat to another while this node was out of touch. */
  evict(sid: string): void {
    if (Option.isNone(this.#sessions.get(sid)?.session.membership ?? Option.none())) return
    this.leave(sid)
    this.#emit({ _tag: "Evicted", sid, reason: membershipLostReason })
  }

  /** One change of an office. */
  applyChange(office: string, update: OfficeUpdate): ApplyResult {
    this.#highestRevision = Math.max(this.#highestRevision, update.toRevision)
    const replica = this.#replicas.get(office)
    const { change, toRevision } = update
    const isOrphan = change._tag === "Entered" && this.#isOrphan(change.member)
    if (replica === undefined) {
      if (isOrphan) return "stray"
      return change._tag === "Entered" && change.member.node === this.#node ? "missed" : "known"
    }
    const next = advanceReplica(replica, update)
    if (next === "known" || next === "missed") return next
    if (isOrphan) {
      this.#replicas.set(office, { ...replica, revision: toRevision, asOf: toRevision })
      return "stray"
    }
    this.#applyMembershipChange(office, change)
    const now = this.#replicas.get(office)
    if (now !== undefined) this.#replicas.set(office, { ...now, revision: toRevision, asOf: toRevision })
    return "known"
  }

  /** Everybody in an office at one moment, whatever was known before. */
  applySnapshot(office: string, snapshot: OfficeSnapshot): ApplyResult {
    this.#highestRevision = Math.max(this.#highestRevision, snapshot.asOf)
    const replica = this.#replicas.get(office) ?? emptyReplica
    if (snapshot.asOf < replica.asOf) return "known"
    const members = snapshot.members.filter((member) => !this.#isOrphan(member))
    const next = replicaFromSnapshot({ ...snapshot, members })
    for (const change of diffOffices(replica.office, next.office)) {
      this.#applyMembershipChange(office, change)
      if (change._tag === "Left") this.#evictSession(change.sid, membershipLostReason)
    }
    if (this.#localMembers.has(office)) this.#replicas.set(office, next)
    else this.#replicas.delete(office)
    return members.length === snapshot.members.length ? "known" : "stray"
  }

  findComputer(office: string, name: string): Option.Option<Member> {
    const replica = this.#replicas.get(office)
    return replica === undefined ? Option.none() : HashMap.get(replica.office.computers, name)
  }

  members(office: string): ReadonlyArray<Member> {
    const replica = this.#replicas.get(office)
    return replica === undefined ? [] : sortedMembers(replica.office)
  }

  /** Every office that this node follows or is about to. */
  offices(): ReadonlyArray<string> {
    const joining = [...this.#sessions.values()].flatMap((local) => local.joining?.office ?? [])
    return [...new Set([...this.#replicas.keys(), ...joining])]
  }

  hasReplica(office: string): boolean {
    return this.#replicas.has(office)
  }

  /** {@link hasReplica} it, or is about to since one of its sessions joins there. */
  needsReplica(office: string): boolean {
    if (this.#replicas.has(office)) return true
    return [...this.#sessions.values()].some(({ joining }) => joining?.office === office)
  }

  /** Sessions that sit and stay, and those whose seat is just changing. */
  reconcileState(): {
    readonly joined: ReadonlyArray<[Session, Membership]>
    readonly pendingJoins: ReadonlyArray<string>
  } {
    const joined: Array<[Session, Membership]> = []
    const pendingJoins: Array<string> = []
    for (const { joining, session } of this.#sessions.values()) {
      if (joining !== undefined) pendingJoins.push(session.sid)
      else if (Option.isSome(session.membership)) joined.push([session, session.membership.value])
    }
    return { joined, pendingJoins }
  }

  /** The greatest revision this node has heard of. */
  highestRevision(): number {
    return this.#highestRevision
  }

  counts(): { readonly sessions: number; readonly offices: number } {
    return { sessions: this.#sessions.size, offices: this.#replicas.size }
  }

  /** Entered by our name, but no session of ours wants to sit there: what was asked for has been given up meanwhile. */
  #isOrphan({ node, membership, sid }: Member): boolean {
    if (node !== this.#node) return false
    const local = this.#sessions.get(sid)
    if (local === undefined) return true
    if (local.joining?.office === membership.office) return false
    return !Option.exists(local.session.membership, ({ office }) => office === membership.office)
  }

  /**
   * One of our sessions has lost its seat. Where it sits elsewhere already, which a snapshot may say before the channel
   * does, or joins elsewhere, that may be its own doing, or not matter.
   */
  #evictSession(sid: string, reason: string): void {
    const local = this.#sessions.get(sid)
    if (local === undefined || Option.isSome(local.session.membership)) return
    if (local.joining === undefined) this.#emit({ _tag: "Evicted", sid, reason })
    else local.pendingEviction = reason
  }

  #applyMembershipChange(office: string, change: MembershipChange): void {
    if (change._tag === "Entered") this.#addMember(change.member)
    else this.#removeMember(change, office)
  }

  #addMember(member: Member): void {
    const { node, membership, sid } = member
    const replica = this.#replicas.get(membership.office) ?? emptyReplica
    const office = applyMembershipChange(replica.office, { _tag: "Entered", member })
    this.#replicas.set(membership.office, { ...replica, office })
    if (office === replica.office) return
    const recipients = [...(this.#localMembers.get(membership.office) ?? [])]
    const local = node === this.#node ? this.#sessions.get(sid) : undefined
    if (local !== undefined) {
      local.session = {
        ...local.session,
        role: Option.some(membership.role),
        membership: Option.some(membership)
      }
      const localMembers = this.#localMembers.get(membership.office)
      if (localMembers === undefined) this.#localMembers.set(membership.office, new Set([sid]))
      else localMembers.add(sid)
    }
    if (recipients.length > 0 || local !== undefined)
      this.#emit({ _tag: "Entered", sid, membership, recipients })
    local?.joining?.onEntered()
  }

  #removeMember(
    change: Extract<MembershipChange, { readonly _tag: "Left" }>,
    id = change.membership.office
  ): void {
    const replica = this.#replicas.get(id)
    const member = replica === undefined ? undefined : this.#findMember(replica.office, change)
    if (replica === undefined || member === undefined) return
    const { membership, sid } = member
    const local = this.#sessions.get(sid)
    if (local !== undefined && Option.exists(local.session.membership, ({ office }) => office === id)) {
      local.session = { ...local.session, membership: Option.none() }
    }
    const localMembers = this.#localMembers.get(id)
    localMembers?.delete(sid)
    if (localMembers === undefined || localMembers.size === 0) {
      this.#localMembers.delete(id)
      this.#replicas.delete(id)
    } else this.#replicas.set(id, { ...replica, office: applyMembershipChange(replica.office, change) })
    this.#emit({ _tag: "Left", sid, membership, recipients: [...(localMembers ?? [])] })
    if (change.replaced) this.#evictSession(sid, takeoverReason)
  }

  #findMember(
    office: Office,
    { membership, sid }: Extract<MembershipChange, { readonly _tag: "Left" }>
  ): Member | undefined {
    return Option.getOrUndefined(Option.filter(memberAt(office, membership), (member) => member.sid === sid))
  }
}
