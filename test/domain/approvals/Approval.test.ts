import { assert, describe, it } from "@effect/vitest"
import {
  type ApprovalAnswer,
  formatAnswerErrors,
  formatDecision,
  fromInputAnswer,
  parseAnswerErrors,
  toDecision,
  toInputAnswer
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

describe("an answer to a question", () => {
  const form = { mode: "form", message: "Name?", schema: {} } as const
  const url = { mode: "url", message: "Sign in", url: "https://a.example" } as const
  const content = { name: "ann" }

  it.each([
    ["is accepted with its content", { action: "allow", content }, form, { action: "accept", content }],
    ["is accepted without fields", { action: "allow" }, form, { action: "accept", content: {} }],
    ["is accepted for a URL without content", { action: "allow", content }, url, { action: "accept" }],
    ["is declined", { action: "deny", reason: "no" }, form, { action: "decline" }],
    [
      "is declined when it allows the tool, which answers nothing",
      { action: "allow", scope: "tool" },
      form,
      { action: "decline" }
    ],
    ["is cancelled", { action: "cancel" }, form, { action: "cancel" }]
  ] as const)("%s", (_, message, input, answer) => {
    assert.deepStrictEqual<unknown>(toInputAnswer(toAnswer(message), input), answer)
  })

  it.each([
    [
      { action: "accept", content },
      { action: "allow", scope: "once", content }
    ],
    [{ action: "accept" }, { action: "allow", scope: "once" }],
    [{ action: "decline" }, { action: "deny" }],
    [{ action: "cancel" }, { action: "cancel" }]
  ] as const)("is made from that of the user: %j", (answer, approvalAnswer) => {
    assert.deepStrictEqual<unknown>(fromInputAnswer(answer), approvalAnswer)
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

  it("gives back the name of a field that looks like an escape", () => {
    assert.deepStrictEqual([...parseAnswerErrors(formatAnswerErrors(["/a~01: is missing"])).keys()], ["a~1"])
  })

  it("gives another text back as that of the whole answer", () => {
    assert.deepStrictEqual([...parseAnswerErrors("/name: no")], [["", "/name: no"]])
  })
})
