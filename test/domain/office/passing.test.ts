import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { officeFull, registryUnavailable, tooManyOffices } from "../../../src/domain/model/Membership.ts"
import { membershipConflict } from "../../../src/domain/office/membershipConflict.ts"
import {
  badRequest,
  forbidden,
  isRetryableMessage,
  retryableMessage,
  shuttingDown
} from "../../../src/domain/model/ProtocolError.ts"

describe("retryable rejection", () => {
  it.prop("has a message with the retry suffix", [Schema.String], ([message]) => {
    assert.isTrue(isRetryableMessage(retryableMessage(message)))
    assert.include(retryableMessage(message), message)
  })

  it("includes temporary conditions", () => {
    for (const { message } of [registryUnavailable(), tooManyOffices(), shuttingDown()]) {
      assert.isTrue(isRetryableMessage(message), message)
    }
  })

  it("excludes conflicts and missing rights", () => {
    const errors = [
      membershipConflict({ office: "O", role: "agent", name: "a" }, { name: "b", joinedAt: 0 }),
      membershipConflict({ office: "O", role: "computer", name: "a, try again" }, { name: "a, try again" }),
      officeFull("O")
    ]
    for (const { message } of [...errors, forbidden("'a' may not join office 'O'"), badRequest("no name")]) {
      assert.isFalse(isRetryableMessage(message), message)
    }
  })
})
