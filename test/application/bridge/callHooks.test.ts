import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { toCallHooks } from "../../../src/application/bridge/callHooks.ts"
import type { InputResponder } from "../../../src/application/ports/McpSession.ts"
import type { ApprovalView } from "../../../src/domain/approvals/ApprovalView.ts"
import type { InputAnswer, InputRequest } from "../../../src/domain/model/InputRequest.ts"

const answerAsHost = (responder: InputResponder) => toCallHooks({ responder })

const approval: ApprovalView = {
  id: "a1",
  computer: "desk",
  server: "alpha",
  tool: "write",
  requester: "ada",
  arguments: "{}",
  argumentsDigest: "",
  askedBy: "rule 1",
  requestedAt: 0,
  expiresIn: 60_000,
  state: "open"
}

/** The decision about an approval for an answer of the host, and the form that the host shows. */
const decide = Effect.fnUntraced(function* (answer: InputAnswer, more: Partial<ApprovalView> = {}) {
  const shown: Array<InputRequest> = []
  const { onApproval } = answerAsHost({
    modes: ["form"],
    answer: (request) => Effect.sync(() => (shown.push(request), answer))
  })
  const decision = yield* onApproval?.({ ...approval, ...more }) ?? Effect.void
  return { decision, message: shown[0]?.message ?? "" }
})

describe("an approval that the host of a published office decides", () => {
  it.effect("is shown with at most 2,000 characters of the arguments", () =>
    Effect.gen(function* () {
      const messageOf = (text: string) =>
        Effect.map(decide({ action: "cancel" }, { arguments: text }), (one) => one.message)
      assert.isTrue((yield* messageOf("x".repeat(2000))).endsWith(`Arguments: ${"x".repeat(2000)}`))
      assert.isTrue((yield* messageOf("x".repeat(2001))).endsWith(`Arguments: ${"x".repeat(2000)}…`))
    })
  )

  it.effect.each([
    ["allows", { action: "accept", content: { decision: "allow" } }, { action: "allow", scope: "once" }],
    ["denies", { action: "accept", content: { decision: "deny" } }, { action: "deny" }],
    ["denies", { action: "accept", content: {} }, { action: "deny" }],
    ["denies", { action: "decline" }, { action: "deny" }],
    ["leaves to others", { action: "cancel" }, undefined]
  ] as const)("%s by %j", ([, answer, decision]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual<unknown>((yield* decide(answer)).decision, decision)
    })
  )

  it("leaves questions of other kinds than those of the host to others", () => {
    assert.deepStrictEqual(answerAsHost({ modes: ["url"], answer: () => Effect.never }).inputModes, ["url"])
  })

  it("needs a host that shows forms", () => {
    assert.isUndefined(answerAsHost({ modes: ["url"], answer: () => Effect.never }).onApproval)
    assert.isUndefined(answerAsHost({ modes: [], answer: () => Effect.never }).onInput)
  })
})
