import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { maxAppMessageLength, parseAppMessage } from "../../../../src/domain/page/apps/appMessages.ts"

const message = (members: object): string => JSON.stringify({ jsonrpc: "2.0", ...members })

describe("parseAppMessage", () => {
  it.each([
    [
      { id: 1, method: "ping" },
      { id: 1, method: "ping", params: {} }
    ],
    [
      { method: "m", params: { a: 1 } },
      { id: undefined, method: "m", params: { a: 1 } }
    ],
    [
      { id: "a", result: {} },
      { id: "a", method: undefined, params: {} }
    ]
  ])("tells requests, notifications and responses apart: %j", (members, expected) => {
    assert.deepStrictEqual<unknown>(parseAppMessage(message(members)), expected)
  })

  it("refuses everything else", () => {
    for (const data of [
      undefined,
      { jsonrpc: "2.0", method: "ping", id: 1 },
      "",
      "[]",
      "{",
      '{"id":1,"method":"ping"}',
      message({ id: 1, method: 7 }),
      message({ id: {}, method: "ping" }),
      message({ id: null, method: "ping" }),
      message({ method: "m", params: [] }),
      message({ method: "m", params: { text: "x".repeat(maxAppMessageLength) } })
    ]) {
      assert.isUndefined(parseAppMessage(data))
    }
  })

  it.prop("throws for no text", [Schema.Union([Schema.String, Schema.fromJsonString(Schema.Json)])], ([value]) => {
    parseAppMessage(value)
    parseAppMessage(JSON.stringify(value))
  })
})
