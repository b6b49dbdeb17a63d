import { assert, describe, it } from "@effect/vitest"
import {
  type ApprovalAnswer,
  formatAnswerErrors,
  formatDecision,
  parseAnswerErrors,
  toDecision
} from "../../../src/domain/approvals/Approval.ts"
import { toAnswer } from "../../../src/domain/approvals/ApprovalView.ts"

describe("decision", () => {
  it.each([
    [{ action: "allow" }, { state: "allowed", by: "ann", at: 3, scope: "once" }, "allowed by ann"],
    [
      { action: "allow", scope: "once", until: 9 },
      { state: "allowed", by: "ann", at: 3, scope: "once" },
      "allowed by ann"
    ],
    [{ action: "allow", scope: "tool" }, { state: "allowed", by: "ann", at: 3, scope: "tool" }, "allowed by ann"],
    [
      { action: "allow", scope: "tool", until: 9 },
      { state: "allowed", by: "ann", at: 3, scope: "tool", until: 9 },
      "allowed by ann"
    ],
    [{ action: "deny" }, { state: "denied", by: "ann", at: 3 }, "denied by ann"],
    [
      { action: "deny", reason: "no", scope: "tool" },
      { state: "denied", by: "ann", at: 3, reason: "no" },
      "denied by ann: no"
    ]
  ] as const)("follows the answer %j", (message, decision, text) => {
    const answer: ApprovalAnswer = toAnswer(message)
    assert.deepStrictEqual<unknown>(toDecision(answer, "ann", 3), decision)
    assert.strictEqual(formatDecision(toDecision(answer, "ann", 3)), text)
  })

  it("tells an approval without an answer from one whose call ended", () => {
    assert.include(formatDecision({ state: "expired", at: 0 }), "expired")
    assert.include(formatDecision({ state: "cancelled", at: 0 }), "cancelled")
  })
})

describe("the message about an answer", () => {
  it("gives its errors back by the names of their fields", () => {
    const errors = ["/name: is too short", "/name: must match; it does not", "/a~1b~0: is missing", "the arguments: x"]
    assert.deepStrictEqual(
      [...parseAnswerErrors(formatAnswerErrors(errors))],
      [
        ["name", "is too short; must match; it does not"],
        ["a/b~", "is missing"],
        ["", "the form: x"]
      ]
    )
  })

  it("gives another text back as that of the whole answer", () => {
    assert.deepStrictEqual([...parseAnswerErrors("/name: no")], [["", "/name: no"]])
  })
})
