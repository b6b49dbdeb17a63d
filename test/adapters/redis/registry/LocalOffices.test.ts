import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { LocalOffices } from "../../../../src/adapters/redis/registry/LocalOffices.ts"
import type { Member, Membership } from "../../../../src/domain/model/Membership.ts"

const membershipIn = (office: string) => ({ office, role: "computer", name: "x" }) as const
const memberIn = (office: string, joinRevision: number): Member => ({
  sid: "old",
  node: "n1",
  version: "0.2.0",
  membership: membershipIn(office),
  joinRevision
})

/** A node whose only session sits in an office. */
const seated = () => {
  const told: Array<string> = []
  const local = new LocalOffices("n1", (change) => {
    if ("sid" in change) told.push(`${change._tag} ${change.sid}`)
  })
  const none = Option.none()
  local.connect({ sid: "old", node: "n1", version: "0.2.0", role: none, membership: none, reconnectKey: "h" })
  const done = local.beginJoin("old", "O", () => undefined)
  local.applySnapshot("O", { revision: 1, asOf: 1, members: [memberIn("O", 1)] })
  done()
  return { local, told }
}

/** It joins elsewhere, and its node learns of that by a snapshot: what came by the channel is late. */
const moveTo = (local: LocalOffices, office: string, revision: number) => {
  const done = local.beginJoin("old", office, () => undefined)
  local.applySnapshot(office, { revision, asOf: revision, members: [memberIn(office, revision)] })
  done()
}

const officeOf = ({ office }: Membership): string => office

const loseSeat = (local: LocalOffices) =>
  local.applyChange("O", {
    fromRevision: 1,
    toRevision: 2,
    change: { _tag: "Left", sid: "old", membership: membershipIn("O"), replaced: true }
  })

describe("a session whose seat is taken over", () => {
  it("is put out", () => {
    const { local, told } = seated()
    loseSeat(local)
    assert.deepStrictEqual(told, ["Entered old", "Left old", "Evicted old"])
  })

  it("is put out when the join under way has come to nothing, since it sits nowhere then", () => {
    const { local, told } = seated()
    const done = local.beginJoin("old", "P", () => undefined)
    loseSeat(local)
    assert.deepStrictEqual(told, ["Entered old", "Left old"])
    done()
    assert.deepStrictEqual(told, ["Entered old", "Left old", "Evicted old"])
  })

  it("stays when that join has brought it elsewhere", () => {
    const { local, told } = seated()
    const done = local.beginJoin("old", "P", () => undefined)
    loseSeat(local)
    local.applySnapshot("P", { revision: 3, asOf: 3, members: [memberIn("P", 3)] })
    done()
    assert.deepStrictEqual(told, ["Entered old", "Left old", "Entered old"])
  })

  it("stays when its move elsewhere was known here before that its seat was taken over", () => {
    const { local, told } = seated()
    moveTo(local, "P", 3)
    loseSeat(local)
    assert.deepStrictEqual(told, ["Entered old", "Entered old", "Left old"])
    assert.deepStrictEqual(
      Option.map(local.session("old")?.membership ?? Option.none(), officeOf),
      Option.some("P")
    )
  })
})

describe("a session that has moved", () => {
  it("stays when only a snapshot says that it has left the office before", () => {
    const { local, told } = seated()
    moveTo(local, "P", 3)
    local.applySnapshot("O", { revision: 4, asOf: 4, members: [] })
    assert.deepStrictEqual(told, ["Entered old", "Entered old", "Left old"])
    assert.deepStrictEqual([local.hasReplica("O"), local.hasReplica("P")], [false, true])
  })

  it("is put out when it has lost the seat to which it has moved", () => {
    const { local, told } = seated()
    moveTo(local, "P", 3)
    local.applySnapshot("P", { revision: 4, asOf: 4, members: [] })
    assert.deepStrictEqual(told.at(-1), "Evicted old")
  })
})
