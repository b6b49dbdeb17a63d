import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  officeFull,
  registryUnavailable,
  membershipConflict,
  tooManyOffices
} from "../../../src/domain/model/Membership.ts"
import {
  badRequest,
  forbidden,
  isRetryableMessage,
  retryableMessage,
  shuttingDown
} from "../../../src/domain/model/ProtocolError.ts"

describe("a refusal", () => {
  it.prop("that passes is known by its text", [Schema.String], ([message]) => {
    assert.isTrue(isRetryableMessage(retryableMessage(message)))
    assert.include(retryableMessage(message), message)
  })

  it("passes when nobody has to do anything about it", () => {
    for (const { message } of [registryUnavailable(), tooManyOffices(), shuttingDown()]) {
      assert.isTrue(isRetryableMessage(message), message)
    }
  })

  it("does not when somebody else sits there, or may not", () => {
    const errors = [
      membershipConflict({ office: "O", role: "agent", name: "a" }),
      membershipConflict({ office: "O", role: "computer", name: "a, try again" }),
      officeFull("O")
    ]
    for (const { message } of [...errors, forbidden("'a' may not join room 'O'"), badRequest("no name")]) {
      assert.isFalse(isRetryableMessage(message), message)
    }
  })
})
