import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { LocalOffices } from "../../../src/adapters/redis/LocalOffices.ts"
import type { Member, Seat } from "../../../src/domain/office/membership.ts"

const seatIn = (office: string) => ({ office, role: "computer", name: "x" }) as const
const memberIn = (office: string, since: number): Member => ({
  sid: "old",
  node: "n1",
  version: "0.2.0",
  seat: seatIn(office),
  since
})

/** A node whose only session sits in an office. */
const seated = () => {
  const told: Array<string> = []
  const local = new LocalOffices("n1", (change) => {
    if ("sid" in change) told.push(`${change._tag} ${change.sid}`)
  })
  const none = Option.none()
  local.connect({ sid: "old", node: "n1", version: "0.2.0", role: none, seat: none, holder: "h" })
  const done = local.joining("old", "O", () => undefined)
  local.replace("O", { revision: 1, asOf: 1, members: [memberIn("O", 1)] })
  done()
  return { local, told }
}

/** It joins elsewhere, and its node learns of that by a snapshot: what came by the channel is late. */
const moveTo = (local: LocalOffices, office: string, revision: number) => {
  const done = local.joining("old", office, () => undefined)
  local.replace(office, { revision, asOf: revision, members: [memberIn(office, revision)] })
  done()
}

const seatOffice = ({ office }: Seat): string => office

const loseSeat = (local: LocalOffices) =>
  local.step("O", {
    from: 1,
    to: 2,
    move: { _tag: "Left", sid: "old", seat: seatIn("O"), replaced: true }
  })

describe("a session whose seat is taken over", () => {
  it("is put out", () => {
    const { local, told } = seated()
    loseSeat(local)
    assert.deepStrictEqual(told, ["Entered old", "Left old", "Evicted old"])
  })

  it("is put out when the join under way has come to nothing, since it sits nowhere then", () => {
    const { local, told } = seated()
    const done = local.joining("old", "P", () => undefined)
    loseSeat(local)
    assert.deepStrictEqual(told, ["Entered old", "Left old"])
    done()
    assert.deepStrictEqual(told, ["Entered old", "Left old", "Evicted old"])
  })

  it("stays when that join has brought it elsewhere", () => {
    const { local, told } = seated()
    const done = local.joining("old", "P", () => undefined)
    loseSeat(local)
    local.replace("P", { revision: 3, asOf: 3, members: [memberIn("P", 3)] })
    done()
    assert.deepStrictEqual(told, ["Entered old", "Left old", "Entered old"])
  })

  it("stays when its move elsewhere was known here before that its seat was taken over", () => {
    const { local, told } = seated()
    moveTo(local, "P", 3)
    loseSeat(local)
    assert.deepStrictEqual(told, ["Entered old", "Entered old", "Left old"])
    assert.deepStrictEqual(
      Option.map(local.session("old")?.seat ?? Option.none(), seatOffice),
      Option.some("P")
    )
  })
})

describe("a session that has moved", () => {
  it("stays when only a snapshot says that it has left the office before", () => {
    const { local, told } = seated()
    moveTo(local, "P", 3)
    local.replace("O", { revision: 4, asOf: 4, members: [] })
    assert.deepStrictEqual(told, ["Entered old", "Entered old", "Left old"])
    assert.deepStrictEqual([local.knows("O"), local.knows("P")], [false, true])
  })

  it("is put out when it has lost the seat to which it has moved", () => {
    const { local, told } = seated()
    moveTo(local, "P", 3)
    local.replace("P", { revision: 4, asOf: 4, members: [] })
    assert.deepStrictEqual(told.at(-1), "Evicted old")
  })
})
