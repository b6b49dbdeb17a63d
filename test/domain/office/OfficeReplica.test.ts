import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import {
  addMember,
  emptyOffice,
  type Office,
  memberAt,
  allMembers
} from "../../../src/domain/office/decideMembership.ts"
import { type Member } from "../../../src/domain/model/Membership.ts"
import {
  diffOffices,
  advanceReplica,
  sortedMembers,
  applyMembershipChange,
  type MembershipChange,
  emptyReplica,
  type OfficeUpdate,
  type OfficeReplica,
  replicaFromSnapshot
} from "../../../src/domain/office/OfficeReplica.ts"

const Sid = Schema.Literals(["1", "2", "3", "4", "5", "6"])
const Attempts = Schema.Array(
  Schema.Struct({
    sid: Sid,
    role: Schema.Literals(["agent", "computer"]),
    name: Schema.Literals(["x", "y", "__proto__"]),
    received: Schema.Boolean
  })
)

const member = (sid: string, role: "agent" | "computer", name: string, joinRevision: number): Member => ({
  sid,
  node: "n",
  version: "0.2.0",
  membership: { office: "O", role, name },
  joinRevision
})

const leftOf = ({ membership, sid }: Member): MembershipChange => ({ _tag: "Left", sid, membership, replaced: false })

/** Applies attempts like a registry: a member leaves, another session takes a free membership. */
const history = (attempts: typeof Attempts.Type) => {
  let office = emptyOffice
  let revision = 0
  const steps: Array<OfficeUpdate & { readonly received: boolean }> = []
  for (const { received, name, role, sid } of attempts) {
    const sitting = allMembers(office).find((one) => one.sid === sid)
    const what: MembershipChange =
      sitting === undefined ? { _tag: "Entered", member: member(sid, role, name, revision + 1) } : leftOf(sitting)
    if (what._tag === "Entered" && Option.isSome(memberAt(office, what.member.membership))) continue
    office = applyMembershipChange(office, what)
    steps.push({ fromRevision: revision, toRevision: ++revision, change: what, received })
  }
  return { office, revision, steps }
}

const sids = (office: Office) =>
  allMembers(office)
    .map(({ sid }) => sid)
    .toSorted()
const apply = (office: Office, moves: ReadonlyArray<MembershipChange>) => moves.reduce(applyMembershipChange, office)
const followed = (view: OfficeReplica, step: OfficeUpdate): OfficeReplica => {
  const next = advanceReplica(view, step)
  return typeof next === "string" ? view : next
}

describe("OfficeReplica", () => {
  it.prop("equals the office after all updates", [Attempts], ([attempts]) => {
    const { office, revision, steps } = history(attempts)
    const view = steps.reduce(followed, emptyReplica)
    assert.deepStrictEqual([sids(view.office), view.revision], [sids(office), revision])
  })

  it.prop("ignores repeated updates", [Attempts], ([attempts]) => {
    const { steps } = history(attempts)
    const view = steps.reduce(followed, emptyReplica)
    for (const step of steps) assert.strictEqual(advanceReplica(view, step), "known")
  })

  it.prop("reports a gap after a missing update", [Attempts], ([attempts]) => {
    const { steps } = history(attempts)
    const first = steps.findIndex(({ received }) => !received)
    const view = steps.slice(0, first === -1 ? steps.length : first).reduce(followed, emptyReplica)
    if (first !== -1) {
      for (const step of steps.slice(first + 1)) assert.strictEqual(advanceReplica(view, step), "gap")
    }
  })

  it.prop("reaches a snapshot by the difference to it", [Attempts, Attempts], ([some, more]) => {
    const before = history(some).office
    const after = history(more).office
    const moves = diffOffices(before, after)
    assert.deepStrictEqual(sids(apply(before, moves)), sids(after))
    const moved = moves.map((one) => (one._tag === "Entered" ? one.member.sid : one.sid))
    const unmoved = sids(before).filter((sid) => !moved.includes(sid))
    for (const sid of unmoved) assert.include(sids(after), sid)
    assert.deepStrictEqual(diffOffices(before, before), [])
  })

  it("reports the members of the difference as left or entered", () => {
    const [gone, kept] = [member("1", "computer", "x", 1), member("2", "agent", "y", 2)]
    const come = member("3", "computer", "z", 3)
    const officeOf = (...members: ReadonlyArray<Member>) => members.reduce(addMember, emptyOffice)
    assert.deepStrictEqual(diffOffices(officeOf(gone, kept), officeOf(kept, come)), [
      leftOf(gone),
      { _tag: "Entered", member: come }
    ])
  })

  it.prop("lists leaves before joins, and joins in their order", [Attempts, Attempts], ([some, more]) => {
    const moves = diffOffices(history(some).office, history(more).office)
    const tags = moves.map(({ _tag }) => _tag)
    assert.isTrue(
      tags.lastIndexOf("Left") < tags.indexOf("Entered") || !tags.includes("Entered") || !tags.includes("Left")
    )
    const joinRevisions = moves.flatMap((one) => (one._tag === "Entered" ? [one.member.joinRevision] : []))
    const sorted = joinRevisions.toSorted((one, other) => one - other)
    assert.deepStrictEqual(joinRevisions, sorted)
  })

  it.prop("applies updates after a snapshot", [Attempts], ([attempts]) => {
    const { office, steps } = history(attempts)
    const half = Math.floor(steps.length / 2)
    const middle = steps.slice(0, half).reduce((state, { change }) => applyMembershipChange(state, change), emptyOffice)
    const snapshot = replicaFromSnapshot({ asOf: half, revision: half, members: allMembers(middle) })
    assert.deepStrictEqual(sids(steps.reduce(followed, snapshot).office), sids(office))
  })

  it("treats updates that are older than a snapshot as known, in an unchanged office too", () => {
    const view = replicaFromSnapshot({ asOf: 9, revision: 4, members: [member("1", "agent", "x", 4)] })
    const left = leftOf(member("1", "agent", "x", 4))
    assert.strictEqual(advanceReplica(view, { fromRevision: 4, toRevision: 8, change: left }), "known")
    assert.notStrictEqual(advanceReplica(view, { fromRevision: 4, toRevision: 10, change: left }), "known")
  })

  it("ignores a leave when another session holds the membership", () => {
    const office = addMember(emptyOffice, member("2", "computer", "x", 2))
    assert.strictEqual(applyMembershipChange(office, leftOf(member("1", "computer", "x", 1))), office)
  })

  it("lists the Agent first, then the Computers in join order", () => {
    const members = [member("1", "computer", "x", 3), member("2", "computer", "y", 1), member("3", "agent", "z", 2)]
    const { office } = replicaFromSnapshot({ asOf: 3, revision: 3, members })
    const listed = sortedMembers(office).map(({ sid }) => sid)
    assert.deepStrictEqual(listed, ["3", "2", "1"])
  })
})
