import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Role } from "../../../src/domain/model/Membership.ts"
import { membershipConflict, parseMembershipConflict } from "../../../src/domain/office/membershipConflict.ts"

/** Times that a date can have, in milliseconds. */
const Time = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 8.64e15 }))

describe("membership conflict", () => {
  it.prop(
    "names the current member and its time, with any characters in the names",
    [Role, Schema.String, Schema.String, Schema.String, Time],
    ([role, office, wanted, name, joinedAt]) => {
      const { message } = membershipConflict({ role, office, name: wanted }, { name, joinedAt })
      // A wanted name may itself look like the text that follows it.
      if (wanted.includes(": office '") || office.includes("\u0000")) return
      const expected = new Date(joinedAt).getUTCFullYear() > 9999 ? undefined : { name, joinedAt }
      if (expected !== undefined) assert.deepStrictEqual(parseMembershipConflict({ role, office }, message), expected)
    }
  )

  it.each([
    ["agent", "Room already has an agent", {}],
    ["agent", "Room already has an agent: office 'O' has the Agent 'it's'", { name: "it's" }],
    ["agent", "Room already has an agent: office 'other' has the Agent 'x'", {}],
    ["computer", "Computer with name 'desk' already exists in room 'O'", {}],
    ["computer", "a Computer of this name already exists", {}]
  ] as const)("is read by an %s from %j", (role, message, current) => {
    assert.deepStrictEqual(parseMembershipConflict({ role, office: "O" }, message), current)
  })

  it.each([
    ["agent", "Office 'O' is full"],
    ["agent", "Computer with name 'desk' already exists in room 'O'"],
    ["computer", "Room already has an agent"],
    ["computer", "Already in office 'P': leave it first"]
  ] as const)("is not what an %s reads from %j", (role, message) => {
    assert.isUndefined(parseMembershipConflict({ role, office: "O" }, message))
  })
})
