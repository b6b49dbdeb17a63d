import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type ServiceOutcome, decodeDeviceMessage } from "../../../src/domain/devices/deviceMessages.ts"
import { encodeUtf8 } from "../../../src/domain/utf8.ts"

const read = (text: string) => Result.getOrThrow(decodeDeviceMessage(encodeUtf8(text)))
const decodeError = (text: string) => Result.getOrThrow(Result.flip(decodeDeviceMessage(encodeUtf8(text))))

describe("device message", () => {
  it.each([
    [
      "the definitions of a registration unchanged",
      '{"type":"register","data":{"services":{"a":{"x":1}}}}',
      { _tag: "Register", definitions: { a: { x: 1 } }, duplicates: [] }
    ],
    [
      "the last service that is registered twice, with a report (seed 002 §6.1)",
      '{"type":"register","data":{"services":{"a":{"n":1,"services":{"b":1,"b":2}},"b":[{"b":1}],"a":{"n":2}}}}',
      { _tag: "Register", definitions: { a: { n: 2 }, b: [{ b: 1 }] }, duplicates: ["a"] }
    ],
    [
      "a call of the seed (seed 002 §4.2)",
      '{"type":"call","data":{"call_id":"call_001","method":"m","params":{"format":"simple"}}}',
      { _tag: "Call", callId: "call_001", method: "m", params: { format: "simple" } }
    ],
    ["an unknown type", '{"type":"unregister"}', { _tag: "Unknown", type: "unregister" }]
  ])("keeps %s", (_, text, message) => {
    assert.deepStrictEqual<unknown>(read(text), message)
  })

  it.each([
    ['{"services":{"a":{"d":"}"},"a":{}}}', ["a"]],
    ['{"services":{"a":{"d":"]{[:"},"a":{}}}', ["a"]],
    ['{"other":{"x":1,"x":2},"services":{}}', []],
    ['{"services":{"a":{"l":[{"x":1},{"x":2}]},"b":{"x":1}}}', []],
    ['{"list":[{"services":{"x":1,"x":2}}],"services":{"b":{}}}', []],
    [String.raw`{"services":{"a":{"d":"\"a\": {\"a\":"}}}`, []]
  ])("finds repeated names only in the services, and none in strings: %s", (data, duplicates) => {
    const message = read(`{"type":"register","data":${data}}`)
    assert.deepStrictEqual(message._tag === "Register" && message.duplicates, duplicates)
  })

  it.each(["", ',"params":null', ',"params":{}'])("decodes a call without parameters: %s", (params) => {
    const message = read(`{"type":"call","data":{"call_id":7,"method":"m"${params}}}`)
    assert.deepStrictEqual(message, { _tag: "Call", callId: "7", method: "m", params: {} })
  })

  it.each<readonly [string, ServiceOutcome]>([
    ['{"success":true,"data":"x"}', { success: true, data: "x" }],
    ['{"success":true}', { success: true, data: undefined }],
    ['{"data":[1]}', { success: true, data: [1] }],
    ['{"error":"no"}', { success: false, error: "no" }],
    ['{"error":""}', { success: true, data: undefined }],
    ['{"success":false,"error":{"code":3}}', { success: false, error: '{"code":3}' }],
    ['{"success":false}', { success: false, error: "the service failed without a message" }],
    ['{"success":false,"error":""}', { success: false, error: "the service failed without a message" }],
    ['{"success":true,"data":1,"error":"ignored"}', { success: true, data: 1 }]
  ])("decodes a result in every form that peers send: %s", (result, outcome) => {
    assert.deepStrictEqual(read(`{"type":"result","data":{"call_id":"c","result":${result}}}`), {
      _tag: "Result",
      callId: "c",
      outcome
    })
  })

  it.each([
    ["{bad", /^not JSON/],
    ["[]", /object/],
    ["{}", /type/],
    ['{"type":"call","data":{"method":"m"}}', /^call: call_id/],
    ['{"type":"call","data":{"call_id":"c","method":"","params":3}}', /method.*params/],
    ['{"type":"register","data":{"services":[]}}', /^register: services/],
    ['{"type":"register"}', /^register: services/],
    ['{"type":"register","data":{"services":{"__proto__":{}}}}', /__proto__/],
    [`{"type":"x","data":{"a":${"[".repeat(200)}${"]".repeat(200)}}}`, /nested deeper/]
  ])("says where an invalid message is wrong, and why: %s", (text, words) => {
    assert.match(decodeError(text), words)
  })

  it("rejects bytes that are not UTF-8", () => {
    const message = decodeDeviceMessage(new Uint8Array([0x7b, 0xff, 0x7d]))
    assert.strictEqual(Result.getOrThrow(Result.flip(message)), "not UTF-8")
  })
})
