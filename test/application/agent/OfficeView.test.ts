import { assert, describe, it } from "@effect/vitest"
import { applyNotice, applyUpdate, initialView } from "../../../src/application/agent/OfficeView.ts"
import type { Membership } from "../../../src/domain/model/Membership.ts"

const membership = (role: Membership["role"], name: string): Membership => ({ office: "O", role, name })
const start = initialView([
  { role: "agent", name: "a" },
  { role: "computer", name: "c" }
])

describe("OfficeView", () => {
  it("ignores an update of a Computer that has left", () => {
    const left = applyNotice(start, { _tag: "Left", membership: membership("computer", "c") })
    assert.deepStrictEqual(applyUpdate(left, "c", { desktop: ["late"] }), left)
    assert.strictEqual(left.computers.size, 0)
  })

  it("forgets the parts of a Computer that enters again", () => {
    const known = applyUpdate(start, "c", { desktop: ["w"], tools: [] })
    const again = applyNotice(known, { _tag: "Entered", membership: membership("computer", "c") })
    assert.deepStrictEqual(again.computers.get("c"), {
      tools: undefined,
      desktop: undefined,
      documents: undefined
    })
    assert.strictEqual(again.members.length, 2)
  })

  it("tells an Agent from a Computer of the same name", () => {
    const view = applyNotice(start, { _tag: "Left", membership: membership("agent", "c") })
    assert.deepStrictEqual(view, start)
  })

  it("ignores notifications of updates and cancellations", () => {
    assert.strictEqual(applyNotice(start, { _tag: "Updated", part: "desktop", computer: "c" }), start)
    assert.strictEqual(applyNotice(start, { _tag: "Cancelled", agent: "a", reqId: "r" }), start)
  })
})
