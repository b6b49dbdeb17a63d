import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { LocalOffices } from "../../../../src/adapters/redis/registry/LocalOffices.ts"
import {
  membershipLostReason,
  type RegistryChange,
  takeoverReason
} from "../../../../src/application/ports/OfficeRegistry.ts"
import type { Member, Membership } from "../../../../src/domain/model/Membership.ts"

const membershipIn = (office: string) => ({ office, role: "computer", name: "x" }) as const
const memberIn = (office: string, joinRevision: number): Member => ({
  sid: "old",
  node: "n1",
  version: "0.2.0",
  membership: membershipIn(office),
  joinRevision
})

/** A node with one session, which is in an office. */
const makeMember = () => {
  const emitted: Array<string> = []
  const local = new LocalOffices("n1", (change) => {
    if ("sid" in change) emitted.push(`${change._tag} ${change.sid}`)
  })
  const none = Option.none()
  local.connect({
    sid: "old",
    node: "n1",
    version: "0.2.0",
    role: none,
    membership: none,
    reconnectKey: "h",
    subject: ""
  })
  const done = local.beginJoin("old", "O", () => undefined)
  local.applySnapshot("O", { revision: 1, asOf: 1, members: [memberIn("O", 1)] })
  done()
  return { local, emitted }
}

/** The session joins another office; a snapshot shows it before the channel does. */
const moveTo = (local: LocalOffices, office: string, revision: number) => {
  const done = local.beginJoin("old", office, () => undefined)
  local.applySnapshot(office, { revision, asOf: revision, members: [memberIn(office, revision)] })
  done()
}

const officeOf = ({ office }: Membership): string => office

const loseMembership = (local: LocalOffices) =>
  local.applyChange("O", {
    fromRevision: 1,
    toRevision: 2,
    change: { _tag: "Left", sid: "old", membership: membershipIn("O"), replaced: true }
  })

describe("session that is taken over", () => {
  it("is evicted", () => {
    const { local, emitted } = makeMember()
    loseMembership(local)
    assert.deepStrictEqual(emitted, ["Entered old", "Left old", "Evicted old"])
  })

  it("is evicted when its pending join fails", () => {
    const { local, emitted } = makeMember()
    const done = local.beginJoin("old", "P", () => undefined)
    loseMembership(local)
    assert.deepStrictEqual(emitted, ["Entered old", "Left old"])
    done()
    assert.deepStrictEqual(emitted, ["Entered old", "Left old", "Evicted old"])
  })

  it("stays when its pending join succeeds", () => {
    const { local, emitted } = makeMember()
    const done = local.beginJoin("old", "P", () => undefined)
    loseMembership(local)
    local.applySnapshot("P", { revision: 3, asOf: 3, members: [memberIn("P", 3)] })
    done()
    assert.deepStrictEqual(emitted, ["Entered old", "Left old", "Entered old"])
  })

  it("stays when its move was applied before the takeover", () => {
    const { local, emitted } = makeMember()
    moveTo(local, "P", 3)
    loseMembership(local)
    assert.deepStrictEqual(emitted, ["Entered old", "Entered old", "Left old"])
    assert.deepStrictEqual(Option.map(local.session("old")?.membership ?? Option.none(), officeOf), Option.some("P"))
  })
})

describe("session that has moved", () => {
  it("stays when only a snapshot shows that it left its previous office", () => {
    const { local, emitted } = makeMember()
    moveTo(local, "P", 3)
    local.applySnapshot("O", { revision: 4, asOf: 4, members: [] })
    assert.deepStrictEqual(emitted, ["Entered old", "Entered old", "Left old"])
    assert.deepStrictEqual([local.hasReplica("O"), local.hasReplica("P")], [false, true])
  })

  it("is evicted when it loses its new membership", () => {
    const { local, emitted } = makeMember()
    moveTo(local, "P", 3)
    local.applySnapshot("P", { revision: 4, asOf: 4, members: [] })
    assert.deepStrictEqual(emitted.at(-1), "Evicted old")
  })
})

const computerIn = (office: string, name: string, node: string, joinRevision: number): Member => ({
  sid: name,
  node,
  version: "0.2.0",
  membership: { office, role: "computer", name },
  joinRevision
})

const entered = (member: Member, fromRevision: number, toRevision: number) =>
  ({ fromRevision, toRevision, change: { _tag: "Entered", member } }) as const

const left = (member: Member, fromRevision: number, toRevision: number) =>
  ({
    fromRevision,
    toRevision,
    change: { _tag: "Left", sid: member.sid, membership: member.membership, replaced: false }
  }) as const

/** Node n1 with the session `own` in office O, and the member `far` of another node there. */
const makeOffice = () => {
  const changes: Array<RegistryChange> = []
  const local = new LocalOffices("n1", (change) => void changes.push(change))
  const connect = (sid: string) =>
    local.connect({
      sid,
      node: "n1",
      version: "0.2.0",
      role: Option.none(),
      membership: Option.none(),
      reconnectKey: "h",
      subject: ""
    })
  const own = computerIn("O", "own", "n1", 1)
  const far = computerIn("O", "far", "n2", 2)
  connect("own")
  const done = local.beginJoin("own", "O", () => undefined)
  local.applySnapshot("O", { revision: 2, asOf: 2, members: [far, own] })
  done()
  changes.length = 0
  return { local, changes, connect, own, far }
}

const namesIn = (local: LocalOffices, office: string) => local.members(office).map(({ membership: { name } }) => name)

describe("list of members", () => {
  it("has those of all nodes, in the order of their joins", () => {
    const { far, local } = makeOffice()
    assert.deepStrictEqual(namesIn(local, "O"), ["own", "far"])
    assert.deepStrictEqual(local.findComputer("O", "far"), Option.some(far))
    assert.deepStrictEqual(local.findComputer("O", "absent"), Option.none())
  })

  it("is empty for an office without members of this node", () => {
    const { local } = makeOffice()
    assert.deepStrictEqual(local.members("P"), [])
    assert.deepStrictEqual(local.findComputer("P", "far"), Option.none())
    assert.deepStrictEqual([local.hasReplica("O"), local.hasReplica("P")], [true, false])
  })

  it("counts offices and sessions", () => {
    const { connect, local } = makeOffice()
    connect("other")
    assert.deepStrictEqual(local.counts(), { sessions: 2, offices: 1 })
    local.disconnect("other")
    assert.deepStrictEqual(local.counts(), { sessions: 1, offices: 1 })
  })
})

describe("change of an office", () => {
  it("notifies the members of this node of a join and a leave", () => {
    const { changes, local } = makeOffice()
    const third = computerIn("O", "third", "n2", 3)
    assert.strictEqual(local.applyChange("O", entered(third, 2, 3)), "known")
    assert.deepStrictEqual(namesIn(local, "O"), ["own", "far", "third"])
    assert.strictEqual(local.applyChange("O", left(third, 3, 4)), "known")
    assert.deepStrictEqual(namesIn(local, "O"), ["own", "far"])
    const change = { sid: "third", membership: third.membership, recipients: ["own"] }
    assert.deepStrictEqual(changes, [
      { _tag: "Entered", ...change },
      { _tag: "Left", ...change }
    ])
  })

  it("has no effect when it arrives again", () => {
    const { changes, local } = makeOffice()
    const third = computerIn("O", "third", "n2", 3)
    local.applyChange("O", entered(third, 2, 3))
    assert.strictEqual(local.applyChange("O", entered(third, 2, 3)), "known")
    assert.lengthOf(changes, 1)
  })

  it("needs a snapshot after a missing one", () => {
    const { changes, local } = makeOffice()
    assert.strictEqual(local.applyChange("O", entered(computerIn("O", "third", "n2", 4), 3, 4)), "gap")
    assert.deepStrictEqual(changes, [])
  })

  it("counts from the revision of the one before it", () => {
    const { local } = makeOffice()
    local.applyChange("O", entered(computerIn("O", "third", "n2", 8), 2, 8))
    assert.strictEqual(local.applyChange("O", entered(computerIn("O", "fourth", "n2", 9), 8, 9)), "known")
    assert.deepStrictEqual(namesIn(local, "O"), ["own", "far", "third", "fourth"])
  })

  it("concerns a node without a replica only when its own session entered", () => {
    const { connect, local } = makeOffice()
    connect("mine")
    const done = local.beginJoin("mine", "P", () => undefined)
    const mine = computerIn("P", "mine", "n1", 3)
    const remote = computerIn("P", "remote", "n2", 4)
    assert.strictEqual(local.applyChange("P", entered(mine, 0, 3)), "gap")
    assert.strictEqual(local.applyChange("P", entered(remote, 3, 4)), "known")
    assert.strictEqual(local.applyChange("P", left(remote, 4, 5)), "known")
    done()
  })

  it("finds members of this node whose join was abandoned", () => {
    const { local } = makeOffice()
    const ghost = computerIn("O", "ghost", "n1", 3)
    assert.strictEqual(local.applyChange("O", entered(ghost, 2, 3)), "orphan")
    assert.deepStrictEqual(namesIn(local, "O"), ["own", "far"])
    assert.strictEqual(local.applyChange("P", entered(computerIn("P", "ghost", "n1", 4), 0, 4)), "orphan")
    assert.strictEqual(local.applyChange("P", entered(computerIn("P", "own", "n1", 5), 0, 5)), "orphan")
    // The change counts, so that the next one fits.
    assert.strictEqual(local.applyChange("O", left(ghost, 3, 6)), "known")
  })

  it("has no effect when a snapshot is newer", () => {
    const { changes, local, own } = makeOffice()
    local.applySnapshot("O", { revision: 2, asOf: 9, members: [own] })
    changes.length = 0
    assert.strictEqual(local.applyChange("O", entered(computerIn("O", "third", "n2", 8), 2, 8)), "known")
    assert.deepStrictEqual(namesIn(local, "O"), ["own"])
    assert.deepStrictEqual(changes, [])
  })
})

describe("snapshot of an office", () => {
  it("notifies the members of this node of the differences", () => {
    const { changes, far, local, own } = makeOffice()
    const third = computerIn("O", "third", "n3", 3)
    assert.strictEqual(local.applySnapshot("O", { revision: 4, asOf: 4, members: [own, third] }), "known")
    assert.deepStrictEqual(namesIn(local, "O"), ["own", "third"])
    assert.deepStrictEqual(changes, [
      { _tag: "Left", sid: "far", membership: far.membership, recipients: ["own"] },
      { _tag: "Entered", sid: "third", membership: third.membership, recipients: ["own"] }
    ])
  })

  it("has no effect when it is older than the replica", () => {
    const { changes, local } = makeOffice()
    assert.strictEqual(local.applySnapshot("O", { revision: 1, asOf: 1, members: [] }), "known")
    assert.deepStrictEqual(namesIn(local, "O"), ["own", "far"])
    assert.deepStrictEqual(changes, [])
  })

  it("replaces a replica of its age", () => {
    const { local, own } = makeOffice()
    local.applySnapshot("O", { revision: 2, asOf: 2, members: [own] })
    assert.deepStrictEqual(namesIn(local, "O"), ["own"])
  })

  it("reports members of this node whose join was abandoned, and leaves them out", () => {
    const { far, local, own } = makeOffice()
    const members = [own, far, computerIn("O", "ghost", "n1", 3)]
    assert.strictEqual(local.applySnapshot("O", { revision: 3, asOf: 3, members }), "orphan")
    assert.deepStrictEqual(namesIn(local, "O"), ["own", "far"])
  })

  it("is not kept for an office without members of this node", () => {
    const { local } = makeOffice()
    local.applySnapshot("P", { revision: 3, asOf: 3, members: [computerIn("P", "far", "n2", 3)] })
    assert.isFalse(local.hasReplica("P"))
  })
})

describe("session of this node", () => {
  it("has its membership from the change that tells of its join", () => {
    const { changes, connect, local } = makeOffice()
    connect("mine")
    let count = 0
    const done = local.beginJoin("mine", "O", () => count++)
    const mine = computerIn("O", "mine", "n1", 3)
    assert.strictEqual(local.applyChange("O", entered(mine, 2, 3)), "known")
    done()
    assert.strictEqual(count, 1)
    assert.deepStrictEqual(local.membership("mine"), Option.some(mine.membership))
    assert.deepStrictEqual(local.session("mine")?.role, Option.some("computer"))
    assert.deepStrictEqual(changes, [
      { _tag: "Entered", sid: "mine", membership: mine.membership, recipients: ["own"] }
    ])
  })

  it("leaves its office, whose other members are notified", () => {
    const { changes, connect, local, own } = makeOffice()
    connect("mine")
    const done = local.beginJoin("mine", "O", () => undefined)
    local.applyChange("O", entered(computerIn("O", "mine", "n1", 3), 2, 3))
    done()
    changes.length = 0
    local.leave("own")
    assert.deepStrictEqual(local.membership("own"), Option.none())
    assert.deepStrictEqual(namesIn(local, "O"), ["far", "mine"])
    assert.deepStrictEqual(changes, [{ _tag: "Left", sid: "own", membership: own.membership, recipients: ["mine"] }])
  })

  it("ends the replica when it leaves as the last one of this node", () => {
    const { changes, local, own } = makeOffice()
    local.leave("own")
    assert.isFalse(local.hasReplica("O"))
    assert.deepStrictEqual(changes, [{ _tag: "Left", sid: "own", membership: own.membership, recipients: [] }])
  })

  it("has nothing to leave or lose outside of any office", () => {
    const { changes, connect, local } = makeOffice()
    connect("mine")
    local.leave("mine")
    local.evict("mine")
    local.leave("unknown")
    local.evict("unknown")
    assert.deepStrictEqual(changes, [])
  })

  it("is evicted with the reason when its membership was taken while the node was disconnected", () => {
    const { changes, local, own } = makeOffice()
    local.evict("own")
    assert.deepStrictEqual(changes, [
      { _tag: "Left", sid: "own", membership: own.membership, recipients: [] },
      { _tag: "Evicted", sid: "own", reason: membershipLostReason }
    ])
  })

  it("is evicted with the reason of a takeover, and of a snapshot without it", () => {
    const taken = makeOffice()
    const { change, ...revisions } = left(taken.own, 2, 3)
    taken.local.applyChange("O", { ...revisions, change: { ...change, replaced: true } })
    assert.deepStrictEqual(taken.changes.at(-1), { _tag: "Evicted", sid: "own", reason: takeoverReason })
    const lost = makeOffice()
    lost.local.applySnapshot("O", { revision: 3, asOf: 3, members: [lost.far] })
    assert.deepStrictEqual(lost.changes.at(-1), { _tag: "Evicted", sid: "own", reason: membershipLostReason })
  })

  it("is not evicted when it leaves", () => {
    const { changes, local, own } = makeOffice()
    local.applyChange("O", left(own, 2, 3))
    assert.deepStrictEqual(
      changes.map(({ _tag }) => _tag),
      ["Left"]
    )
  })

  it("stays a member when another session with its name left", () => {
    const { changes, local, own } = makeOffice()
    local.applyChange("O", left({ ...own, sid: "another" }, 2, 3))
    assert.deepStrictEqual(namesIn(local, "O"), ["own", "far"])
    assert.deepStrictEqual(changes, [])
  })
})

describe("pending join", () => {
  it("makes this node follow the office", () => {
    const { connect, local } = makeOffice()
    connect("mine")
    assert.deepStrictEqual([local.needsReplica("O"), local.needsReplica("P")], [true, false])
    const done = local.beginJoin("mine", "P", () => undefined)
    assert.deepStrictEqual(local.offices(), ["O", "P"])
    assert.isTrue(local.needsReplica("P"))
    assert.isFalse(local.hasReplica("P"))
    done()
    assert.deepStrictEqual(local.offices(), ["O"])
  })

  it("names an office with a replica once", () => {
    const { connect, local } = makeOffice()
    connect("mine")
    local.beginJoin("mine", "O", () => undefined)
    assert.deepStrictEqual(local.offices(), ["O"])
  })

  it("does nothing for an unknown session", () => {
    const { local } = makeOffice()
    local.beginJoin("unknown", "P", () => undefined)()
    assert.deepStrictEqual(local.offices(), ["O"])
  })

  it("stays when an earlier one ends", () => {
    const { connect, local } = makeOffice()
    connect("mine")
    const first = local.beginJoin("mine", "P", () => undefined)
    local.beginJoin("mine", "Q", () => undefined)
    first()
    assert.deepStrictEqual(local.offices(), ["O", "Q"])
  })

  it("is not part of what a reconciliation tells Redis", () => {
    const { connect, local, own } = makeOffice()
    connect("mine")
    connect("idle")
    local.beginJoin("mine", "P", () => undefined)
    const state = local.reconcileState()
    assert.deepStrictEqual(
      state.joined.map(([{ sid }, membership]) => [sid, membership]),
      [["own", own.membership]]
    )
    assert.deepStrictEqual(state.pendingJoins, ["mine"])
  })
})

describe("highest revision", () => {
  it("is that of all changes and snapshots, of known offices and others", () => {
    const { local } = makeOffice()
    assert.strictEqual(local.reconcileState().highestRevision, 2)
    local.applyChange("P", entered(computerIn("P", "far", "n2", 5), 4, 5))
    assert.strictEqual(local.reconcileState().highestRevision, 5)
    local.applyChange("P", entered(computerIn("P", "far", "n2", 3), 0, 3))
    assert.strictEqual(local.reconcileState().highestRevision, 5)
    local.applySnapshot("P", { revision: 1, asOf: 7, members: [] })
    local.applySnapshot("P", { revision: 1, asOf: 6, members: [] })
    assert.strictEqual(local.reconcileState().highestRevision, 7)
  })
})
