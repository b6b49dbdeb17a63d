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

/** A node with one session, which is in an office. */
const makeMember = () => {
  const emitted: Array<string> = []
  const local = new LocalOffices("n1", (change) => {
    if ("sid" in change) emitted.push(`${change._tag} ${change.sid}`)
  })
  const none = Option.none()
  local.connect({ sid: "old", node: "n1", version: "0.2.0", role: none, membership: none, reconnectKey: "h" })
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

const loseSeat = (local: LocalOffices) =>
  local.applyChange("O", {
    fromRevision: 1,
    toRevision: 2,
    change: { _tag: "Left", sid: "old", membership: membershipIn("O"), replaced: true }
  })

describe("session that is taken over", () => {
  it("is evicted", () => {
    const { local, emitted } = makeMember()
    loseSeat(local)
    assert.deepStrictEqual(emitted, ["Entered old", "Left old", "Evicted old"])
  })

  it("is evicted when its pending join fails", () => {
    const { local, emitted } = makeMember()
    const done = local.beginJoin("old", "P", () => undefined)
    loseSeat(local)
    assert.deepStrictEqual(emitted, ["Entered old", "Left old"])
    done()
    assert.deepStrictEqual(emitted, ["Entered old", "Left old", "Evicted old"])
  })

  it("stays when its pending join succeeds", () => {
    const { local, emitted } = makeMember()
    const done = local.beginJoin("old", "P", () => undefined)
    loseSeat(local)
    local.applySnapshot("P", { revision: 3, asOf: 3, members: [memberIn("P", 3)] })
    done()
    assert.deepStrictEqual(emitted, ["Entered old", "Left old", "Entered old"])
  })

  it("stays when its move was applied before the takeover", () => {
    const { local, emitted } = makeMember()
    moveTo(local, "P", 3)
    loseSeat(local)
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
