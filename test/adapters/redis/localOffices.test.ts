import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { LocalOffices } from "../../../src/adapters/redis/LocalOffices.ts"
import type { Member } from "../../../src/domain/office/membership.ts"

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
})
