import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  officeFull,
  registryUnavailable,
  seatTaken,
  tooManyOffices
} from "../../../src/domain/office/membership.ts"
import { isPassing, passing } from "../../../src/domain/office/passing.ts"
import { badRequest, forbidden, goingDown } from "../../../src/domain/refusal.ts"

describe("a refusal", () => {
  it.prop("that passes is known by its text", [Schema.String], ([why]) => {
    assert.isTrue(isPassing(passing(why)))
    assert.include(passing(why), why)
  })

  it("passes when nobody has to do anything about it", () => {
    for (const { message } of [registryUnavailable(), tooManyOffices(), goingDown()]) {
      assert.isTrue(isPassing(message), message)
    }
  })

  it("does not when somebody else sits there, or may not", () => {
    const seats = [
      seatTaken({ office: "O", role: "agent", name: "a" }),
      seatTaken({ office: "O", role: "computer", name: "a, try again" }),
      officeFull("O")
    ]
    for (const { message } of [...seats, forbidden("'a' may not join room 'O'"), badRequest("no name")]) {
      assert.isFalse(isPassing(message), message)
    }
  })
})
