import { Option } from "effect"
import type { OfficeKey, SessionId } from "../../../domain/model/ids.ts"
import { computerNamed, memberAt, type Office } from "../../../domain/office/decideMembership.ts"
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
  type EvictionReason,
  type RegistryChange,
  membershipLostReason,
  takeoverReason
} from "../../../application/ports/OfficeRegistry.ts"

/** A session of this node. Its membership may change at any time during a join. */
interface LocalSession {
  session: Session
  joining: { readonly office: OfficeKey; readonly onEntered: () => void } | undefined
  /** The reason for an eviction when the pending join fails: the membership was lost meanwhile. */
  pendingEviction: EvictionReason | undefined
}

/** Result of an update: `"gap"` needs a snapshot, `"orphan"` the removal of a member without a session. */
export type ApplyResult = "known" | "gap" | "orphan"

/**
 * The sessions of one node and the members of their offices. Members of this node are notified once of each join and
 * leave. Sessions that lose their membership without a leave are evicted. Changes of the node's own sessions are emitted
 * even without recipients.
 */
export class LocalOffices {
  readonly #node: string
  readonly #emit: (change: RegistryChange) => void
  readonly #sessions = new Map<SessionId, LocalSession>()
  readonly #replicas = new Map<OfficeKey, OfficeReplica>()
  /** The sessions of this node in each office with a replica. */
  readonly #localMembers = new Map<OfficeKey, Set<SessionId>>()
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

  disconnect(sid: SessionId): void {
    this.#sessions.delete(sid)
  }

  session(sid: SessionId): Session | undefined {
    return this.#sessions.get(sid)?.session
  }

  membership(sid: SessionId): Option.Option<Membership> {
    return this.session(sid)?.membership ?? Option.none()
  }

  /** Starts a join: an echo of it calls `onEntered`. The returned function ends the join. */
  beginJoin(sid: SessionId, office: OfficeKey, onEntered: () => void): () => void {
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

  leave(sid: SessionId): void {
    const membership = Option.getOrUndefined(this.membership(sid))
    if (membership !== undefined) this.#removeMember({ _tag: "Left", sid, membership, replaced: false })
  }

  /** Evicts a session whose membership another session took while this node was disconnected. */
  evict(sid: SessionId): void {
    if (Option.isNone(this.membership(sid))) return
    this.leave(sid)
    this.#emit({ _tag: "Evicted", sid, reason: membershipLostReason })
  }

  applyChange(office: OfficeKey, update: OfficeUpdate): ApplyResult {
    this.#highestRevision = Math.max(this.#highestRevision, update.toRevision)
    const replica = this.#replicas.get(office)
    const { change, toRevision } = update
    const isOrphan = change._tag === "Entered" && this.#isOrphan(change.member)
    if (replica === undefined) {
      if (isOrphan) return "orphan"
      return change._tag === "Entered" && change.member.node === this.#node ? "gap" : "known"
    }
    const next = advanceReplica(replica, update)
    if (next === "known" || next === "gap") return next
    if (!isOrphan) this.#apply(office, change)
    const now = this.#replicas.get(office)
    if (now !== undefined) this.#replicas.set(office, { ...now, revision: toRevision, asOf: toRevision })
    return isOrphan ? "orphan" : "known"
  }

  applySnapshot(office: OfficeKey, snapshot: OfficeSnapshot): ApplyResult {
    this.#highestRevision = Math.max(this.#highestRevision, snapshot.asOf)
    const replica = this.#replicas.get(office) ?? emptyReplica
    if (snapshot.asOf < replica.asOf) return "known"
    const members = snapshot.members.filter((member) => !this.#isOrphan(member))
    const next = replicaFromSnapshot({ ...snapshot, members })
    for (const change of diffOffices(replica.office, next.office)) {
      this.#apply(office, change)
      if (change._tag === "Left") this.#evictSession(change.sid, membershipLostReason)
    }
    if (this.#localMembers.has(office)) this.#replicas.set(office, next)
    else this.#replicas.delete(office)
    return members.length === snapshot.members.length ? "known" : "orphan"
  }

  findComputer(office: OfficeKey, name: string): Option.Option<Member> {
    return computerNamed(this.#office(office), name)
  }

  members(office: OfficeKey): ReadonlyArray<Member> {
    return sortedMembers(this.#office(office))
  }

  #office(office: OfficeKey): Office {
    return (this.#replicas.get(office) ?? emptyReplica).office
  }

  /** Offices with a replica or a pending join. */
  offices(): ReadonlyArray<OfficeKey> {
    const joining = [...this.#sessions.values()].flatMap((local) => local.joining?.office ?? [])
    return [...new Set([...this.#replicas.keys(), ...joining])]
  }

  hasReplica(office: OfficeKey): boolean {
    return this.#replicas.has(office)
  }

  /** True with a replica or a pending join. */
  needsReplica(office: OfficeKey): boolean {
    return this.offices().includes(office)
  }

  /** Sessions with a stable membership, and sessions with a pending join. */
  reconcileState() {
    const joined: Array<readonly [Session, Membership]> = []
    const pendingJoins: Array<SessionId> = []
    for (const { joining, session } of this.#sessions.values()) {
      if (joining !== undefined) pendingJoins.push(session.sid)
      else if (Option.isSome(session.membership)) joined.push([session, session.membership.value])
    }
    return { highestRevision: this.#highestRevision, joined, pendingJoins }
  }

  counts(): { readonly sessions: number; readonly offices: number } {
    return { sessions: this.#sessions.size, offices: this.#replicas.size }
  }

  /** True for a member of this node without a session: its join was abandoned. */
  #isOrphan({ node, membership, sid }: Member): boolean {
    if (node !== this.#node) return false
    const local = this.#sessions.get(sid)
    if (local === undefined) return true
    if (local.joining?.office === membership.office) return false
    return !Option.exists(local.session.membership, ({ office }) => office === membership.office)
  }

  /**
   * Evicts a session of this node that lost its membership. A session that is already in another office has moved: a
   * snapshot may show that before the channel does. During a join the eviction waits for its result.
   */
  #evictSession(sid: SessionId, reason: EvictionReason): void {
    const local = this.#sessions.get(sid)
    if (local === undefined || Option.isSome(local.session.membership)) return
    if (local.joining === undefined) this.#emit({ _tag: "Evicted", sid, reason })
    else local.pendingEviction = reason
  }

  #apply(office: OfficeKey, change: MembershipChange): void {
    if (change._tag === "Entered") this.#addMember(change.member)
    else this.#removeMember(change, office)
  }

  #addMember(member: Member): void {
    const { joinedAt, node, membership, sid } = member
    const replica = this.#replicas.get(membership.office) ?? emptyReplica
    const office = applyMembershipChange(replica.office, { _tag: "Entered", member })
    this.#replicas.set(membership.office, { ...replica, office })
    if (office === replica.office) return
    const recipients = [...(this.#localMembers.get(membership.office) ?? [])]
    const local = node === this.#node ? this.#sessions.get(sid) : undefined
    if (local !== undefined) {
      const { role } = membership
      const joined = { role: Option.some(role), membership: Option.some(membership), joinedAt }
      local.session = { ...local.session, ...joined }
      const localMembers = this.#localMembers.get(membership.office) ?? new Set()
      this.#localMembers.set(membership.office, localMembers.add(sid))
    }
    if (recipients.length > 0 || local !== undefined) this.#emit({ _tag: "Entered", sid, membership, recipients })
    local?.joining?.onEntered()
  }

  #removeMember(change: Extract<MembershipChange, { readonly _tag: "Left" }>, id = change.membership.office): void {
    const replica = this.#replicas.get(id)
    // A change may name the key of a name instead of the name.
    const member = replica && Option.getOrUndefined(memberAt(replica.office, change.membership))
    if (replica === undefined || member?.sid !== change.sid) return
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
}
