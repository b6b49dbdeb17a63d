import { assert, describe, it } from "@effect/vitest"
import {
  isExhausted,
  newViolationBudget,
  recordViolation
} from "../../../src/domain/devices/ViolationBudget.ts"
import {
  isValidDeviceToken,
  parseCredentials,
  parseStatus,
  formatCredentials,
  formatStatus
} from "../../../src/domain/devices/handshake.ts"

describe("what a device shows", () => {
  it("is a token, and options", () => {
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

  it("is read as it was written", () => {
    for (const token of ["", "t"]) {
      const shown = { token, options: new Map([["name", "lamp: the big one"]]) }
      assert.deepStrictEqual(parseCredentials(formatCredentials(shown)), shown)
    }
  })

  it("can be a token when it is something that is read as it was written", () => {
    const tokens = ["t", "a b", "a#b", "", " t", "t\n", "a##b"]
    assert.deepStrictEqual(tokens.filter(isValidDeviceToken), ["t", "a b", "a#b"])
  })
})

describe("a status", () => {
  it.each([
    ["##PING", { kind: "PING", text: "" }],
    ["##INFO:PONG", { kind: "INFO", text: "PONG" }],
    ["##INFO: DISCONNECT in 3 s: bye", { kind: "INFO", text: "DISCONNECT in 3 s: bye" }],
    ["##new-kind:x", { kind: "NEW-KIND", text: "x" }],
    ["ok", { kind: "OK", text: "" }]
  ])("%s", (payload, status) => {
    assert.deepStrictEqual(parseStatus(payload), status)
  })

  it("is read as it was written", () => {
    assert.deepStrictEqual(parseStatus(formatStatus("ERROR", "no")), { kind: "ERROR", text: "no" })
    assert.strictEqual(formatStatus("PING"), "##PING")
  })
})

describe("patience", () => {
  const after = (violations: ReadonlyArray<readonly [at: number, violation: string, bytes?: number]>) =>
    isExhausted(
      violations.reduce(
        (one, [at, violation, bytes]) => recordViolation(one, at, violation, bytes),
        newViolationBudget(0)
      )
    )

  it("the third frame within a minute that is too large is one too many", () => {
    assert.isFalse(
      after([
        [0, "too_large"],
        [1, "too_large"]
      ])
    )
    assert.isTrue(
      after([
        [0, "too_large"],
        [1, "too_large"],
        [2, "too_large"]
      ])
    )
    assert.isFalse(
      after([
        [0, "too_large"],
        [1, "too_large"],
        [60_000, "too_large"]
      ])
    )
  })

  it("a line break after every frame is harmless, a flood of garbage is not", () => {
    assert.isFalse(after(Array.from({ length: 10_000 }, () => [0, "garbage", 2] as const)))
    assert.isTrue(after([[0, "garbage", 2 * 1024 * 1024]]))
  })

  it("a hundred bad messages are borne, one more is not", () => {
    const bad = Array.from({ length: 100 }, () => [0, "message"] as const)
    assert.isFalse(after(bad))
    assert.isTrue(after([...bad, [1, "message"]]))
  })
})
