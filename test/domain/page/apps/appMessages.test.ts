import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  appRate,
  makeAppRate,
  maxAppMessageLength,
  parseAppMessage
} from "../../../../src/domain/page/apps/appMessages.ts"

const message = (members: object): string => JSON.stringify({ jsonrpc: "2.0", ...members })

describe("parseAppMessage", () => {
  it.each([
    [
      { id: 1, method: "ping" },
      { _tag: "Request", id: 1, method: "ping", params: {} }
    ],
    [
      { method: "m", params: { a: 1 } },
      { _tag: "Notification", method: "m", params: { a: 1 } }
    ],
    [
      { id: "a", result: {} },
      { _tag: "Response", id: "a" }
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
      message({ id: 1.5, method: "ping" }),
      message({ id: "x".repeat(201), method: "ping" }),
      message({ id: null, method: "ping" }),
      message({ method: "m", params: [] }),
      message({ result: {} }),
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

describe("makeAppRate", () => {
  it("permits a burst, and then the rate", () => {
    const permits = makeAppRate(0)
    for (let count = 0; count < appRate.burst; count++) assert.isTrue(permits(0))
    assert.isFalse(permits(0))
    const steady = makeAppRate(0)
    for (let count = 0; count < 1000; count++) assert.isTrue(steady((count * 1000) / appRate.perSecond))
  })
})
