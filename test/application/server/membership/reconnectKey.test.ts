import { assert, describe, it } from "@effect/vitest"
import { reconnectKeyOf } from "../../../../src/application/server/membership/admission.ts"

describe("the secret of a reconnecting member", () => {
  it.each([
    ["missing", {}],
    ["empty", { instance: "" }],
    ["no text", { instance: 7 }],
    ["longer than 128 characters", { instance: "x".repeat(129) }],
    ["not in an object", "instance"],
    ["in no auth payload", null]
  ])("permits no takeover when it is %s", (_, auth) => assert.strictEqual(reconnectKeyOf("ada", auth), ""))

  it("has at most 128 characters", () => assert.include(reconnectKeyOf("ada", { instance: "x".repeat(128) }), "xxx"))

  it("counts for one subject only", () => {
    const key = reconnectKeyOf("ada", { instance: "secret" })
    assert.strictEqual(reconnectKeyOf("ada", { instance: "secret", role: "agent" }), key)
    assert.notStrictEqual(reconnectKeyOf("eve", { instance: "secret" }), key)
    assert.notStrictEqual(reconnectKeyOf("ada", { instance: "other" }), key)
  })
})
