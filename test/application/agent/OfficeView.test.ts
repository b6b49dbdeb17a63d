import { assert, describe, it } from "@effect/vitest"
import { follow, learn, viewOf } from "../../../src/application/agent/OfficeView.ts"
import type { Seat } from "../../../src/domain/office/membership.ts"

const seat = (role: Seat["role"], name: string): Seat => ({ office: "O", role, name })
const start = viewOf([
  { role: "agent", name: "a" },
  { role: "computer", name: "c" }
])

describe("OfficeView", () => {
  it("what is learned about a Computer that has gone is forgotten", () => {
    const left = follow(start, { _tag: "Left", seat: seat("computer", "c") })
    assert.deepStrictEqual(learn(left, "c", { desktop: ["late"] }), left)
    assert.strictEqual(left.computers.size, 0)
  })

  it("a Computer that comes back is known by nothing but its name", () => {
    const known = learn(start, "c", { desktop: ["w"], tools: [] })
    const again = follow(known, { _tag: "Entered", seat: seat("computer", "c") })
    assert.deepStrictEqual(again.computers.get("c"), {
      tools: undefined,
      desktop: undefined,
      documents: undefined
    })
    assert.strictEqual(again.members.length, 2)
  })

  it("an Agent of the same name is somebody else", () => {
    const view = follow(start, { _tag: "Left", seat: seat("agent", "c") })
    assert.deepStrictEqual(view, start)
  })

  it("updates and cancels change nothing by themselves", () => {
    assert.strictEqual(follow(start, { _tag: "Updated", part: "desktop", computer: "c" }), start)
    assert.strictEqual(follow(start, { _tag: "Cancelled", agent: "a", reqId: "r" }), start)
  })
})
