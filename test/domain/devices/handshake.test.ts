import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import {
  isValidDeviceToken,
  parseCredentials,
  parseStatus,
  formatCredentials,
  formatStatus
} from "../../../src/domain/devices/handshake.ts"

describe("AUTH payload", () => {
  it("contains a token and options", () => {
    assert.deepStrictEqual(parseCredentials("ey.J##voiceid:v1##lang:zh##mode:vad##flag##lang:en"), {
      token: "ey.J",
      options: new Map([
        ["voiceid", "v1"],
        ["lang", "zh"],
        ["mode", "vad"],
        ["flag", ""]
      ])
    })
  })

  it("drops white space around the token, and keeps an option without a name", () =>
    assert.deepStrictEqual(parseCredentials(" t \n##:x"), { token: "t", options: new Map([["", "x"]]) }))

  it("survives formatting and parsing", () => {
    for (const token of ["", "t"]) {
      const shown = { token, options: new Map([["name", "lamp: the big one"]]) }
      assert.deepStrictEqual(Result.map(formatCredentials(shown), parseCredentials), Result.succeed(shown))
    }
  })

  it("rejects what it would read otherwise, without the token", () => {
    const none = new Map<string, string>()
    const name = (value: string) => new Map([["name", value]])
    for (const shown of [
      { token: "secret##", options: none },
      { token: "secret#", options: name("lamp") },
      { token: " secret", options: none },
      { token: "secret", options: name("a##b") },
      { token: "secret", options: new Map([["a:b", "c"]]) }
    ]) {
      const message = Result.getOrThrow(Result.flip(formatCredentials(shown)))
      assert.strictEqual(message, "AUTH cannot carry the token and the options")
    }
  })

  it("accepts only tokens that survive formatting and parsing", () => {
    const tokens = ["t", "a b", "a#b", "", " t", "t\n", "a##b", "t#"]
    assert.deepStrictEqual(tokens.filter(isValidDeviceToken), ["t", "a b", "a#b"])
  })
})

describe("STATUS payload", () => {
  it.each([
    ["##PING", { kind: "PING", text: "" }],
    ["##INFO:PONG", { kind: "INFO", text: "PONG" }],
    ["##INFO: DISCONNECT in 3 s: bye", { kind: "INFO", text: "DISCONNECT in 3 s: bye" }],
    ["##new-kind:x", { kind: "NEW-KIND", text: "x" }],
    ["ok", { kind: "OK", text: "" }],
    ["## error : no ", { kind: "ERROR", text: "no" }]
  ])("parses %s", (payload, status) => {
    assert.deepStrictEqual(parseStatus(payload), status)
  })

  it("survives formatting and parsing", () => {
    assert.deepStrictEqual(parseStatus(formatStatus("ERROR", "no")), { kind: "ERROR", text: "no" })
    assert.strictEqual(formatStatus("PING"), "##PING")
  })
})
