import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Approval, ApprovalDecision } from "../../../src/domain/approvals/Approval.ts"
import { argumentsLengths, toApprovalView } from "../../../src/domain/approvals/ApprovalView.ts"
import { operatorRequests } from "../../../src/domain/page/operatorRequests.ts"

const approval: Approval = {
  id: "a1",
  reqId: "r1",
  office: "team",
  line: "0.2",
  computer: "desk",
  server: "notes",
  tool: "notes_write",
  shortName: "write",
  caller: { _tag: "Agent", name: "thinker", membership: 1 },
  requester: "thinker",
  params: { path: "a.md" },
  argumentsDigest: "d1",
  toolDigest: "t1",
  requestedAt: 1000,
  expiresAt: 61_000,
  askedBy: "rule 3"
}

const shown = {
  id: "a1",
  computer: "desk",
  server: "notes",
  tool: "notes_write",
  requester: "thinker",
  arguments: '{\n  "path": "a.md"\n}',
  argumentsDigest: "d1",
  askedBy: "rule 3",
  requestedAt: 1000
}

const open = (changes: Partial<Approval> = {}, kind: keyof typeof argumentsLengths = "one") =>
  toApprovalView({ ...approval, ...changes }, undefined, 31_000, kind)

describe("the view of an approval", () => {
  it("has what an approver needs, and the time that is left", () => {
    assert.deepStrictEqual(open(), { ...shown, state: "open", expiresIn: 30_000 })
  })

  it("has the reason of the rule, the change of the tool and the arguments before", () => {
    const change = {
      approvedAt: 500,
      approvedBy: "ann",
      differences: [{ part: "description", before: "a", after: "b" }]
    } as const
    const view = open({ reason: "writes", change, previousParams: { path: "b.md" } })
    assert.strictEqual(view.reason, "writes")
    assert.deepStrictEqual(view.change, change)
    assert.strictEqual(view.previousArguments, '{\n  "path": "b.md"\n}')
  })

  it("has all of a question, and in a list the beginning of its message without a long schema", () => {
    const properties = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field ${index}`, {}]))
    const input = { mode: "form", message: "x".repeat(600), schema: { type: "object", properties } } as const
    assert.deepStrictEqual<unknown>(open({ input }).input, input)
    assert.deepStrictEqual<unknown>(open({ input }, "list").input, { mode: "form", message: "x".repeat(500) })
    const short = { mode: "form", message: "Name?", schema: { type: "object" } } as const
    assert.deepStrictEqual<unknown>(open({ input: short }, "list").input, short)
    const url = { mode: "url", message: "x".repeat(600), url: "https://a.example" } as const
    assert.deepStrictEqual<unknown>(open({ input: url }, "list").input, { ...url, message: "x".repeat(500) })
  })

  it("leaves the arguments before out of a list", () => {
    assert.notProperty(open({ previousParams: { path: "b.md" } }, "list"), "previousArguments")
  })

  it("has no time left after its expiry", () => {
    assert.strictEqual(toApprovalView(approval, undefined, 90_000, "one").expiresIn, 0)
  })

  const byAnn = { by: "ann", at: 5 }
  const decided = { decidedAt: 5, decidedBy: "ann" }

  it.each<readonly [ApprovalDecision, object]>([
    [
      { state: "allowed", ...byAnn, scope: "once" },
      { ...decided, scope: "once" }
    ],
    [
      { state: "allowed", ...byAnn, scope: "tool", until: 9 },
      { ...decided, scope: "tool", until: 9 }
    ],
    [{ state: "denied", ...byAnn }, decided],
    [
      { state: "denied", ...byAnn, reason: "no" },
      { ...decided, denialReason: "no" }
    ],
    [{ state: "expired", at: 5 }, { decidedAt: 5 }],
    [{ state: "cancelled", at: 5 }, { decidedAt: 5 }]
  ])("has the decision %j", (decision, fields) => {
    const view = toApprovalView(approval, decision, 31_000, "one")
    assert.deepStrictEqual<object>(view, { ...shown, state: decision.state, ...fields, expiresIn: 0 })
  })

  it.each(["list", "one"] as const)("truncates long arguments (%s)", (kind) => {
    const limit = argumentsLengths[kind]
    const text = open({ params: { text: "x".repeat(limit) } }, kind).arguments
    assert.strictEqual(text, `{"text":"${"x".repeat(limit - 9)}…`)
  })

  it("truncates arguments that are too long with their indentation", () => {
    const params = { list: Array.from({ length: 900 }, () => 1) }
    const text = open({ params }, "list").arguments
    assert.strictEqual(text.length, argumentsLengths.list + 1)
    assert.isTrue(text.startsWith('{\n  "list": [\n    1,') && text.endsWith("…"))
  })

  it("shows arguments of the largest length", () => {
    const params = { text: "x".repeat(argumentsLengths.list - 16) }
    assert.strictEqual(open({ params }, "list").arguments, JSON.stringify(params, null, 2))
  })

  it("shows compact arguments of the largest length as the start of their indented text", () => {
    const params = { text: "x".repeat(argumentsLengths.list - 11) }
    assert.isTrue(open({ params }, "list").arguments.startsWith('{\n  "text"'))
  })

  it.each(["computer", "server", "tool", "requester", "askedBy", "reason"] as const)("bounds a long %s", (field) => {
    const [longest, tooLong] = ["x".repeat(8192), `${"x".repeat(8190)}😀x`]
    assert.strictEqual(open({ [field]: longest })[field], longest)
    assert.strictEqual(open({ [field]: tooLong })[field], `${"x".repeat(8190)}\uFFFD…`)
  })

  it("replaces half of a character where it truncates arguments", () => {
    const text = open({ params: { text: `${"x".repeat(argumentsLengths.list - 10)}😀` } }, "list").arguments
    assert.strictEqual(text.at(-2), "\uFFFD")
  })
})

describe("a message about an approval", () => {
  const view = toApprovalView(approval, { state: "denied", by: "ann", at: 5, reason: "no" }, 0, "one")

  it("has the names of the wire", () => {
    assert.deepStrictEqual(operatorRequests.getApproval.reply.encode(view), {
      id: "a1",
      computer: "desk",
      server: "notes",
      tool: "notes_write",
      requester: "thinker",
      arguments: shown.arguments,
      arguments_sha256: "d1",
      asked_by: "rule 3",
      requested_at: 1000,
      expires_in_ms: 0,
      state: "denied",
      decided_by: "ann",
      decided_at: 5,
      denial_reason: "no"
    })
  })

  it("gives the view back", () => {
    assert.deepStrictEqual(
      operatorRequests.getApproval.reply.decode(operatorRequests.getApproval.reply.encode(view)),
      Result.succeed(view)
    )
  })

  it.each([
    ["a long id", { id: "x".repeat(8193), by: "ann", action: "allow" }],
    ["a long reason", { id: "a1", by: "ann", action: "deny", reason: "x".repeat(501) }],
    ["another action", { id: "a1", by: "ann", action: "ask" }],
    ["another scope", { id: "a1", by: "ann", action: "allow", scope: "all" }],
    ["no person", { id: "a1", action: "allow" }]
  ])("rejects an answer with %s", (_name, answer) => {
    assert.isTrue(Result.isFailure(operatorRequests.decideApproval.request.decode(answer)))
  })

  it("accepts an answer with the longest reason", () => {
    const answer = { id: "a1", by: "ann", action: "deny", reason: "x".repeat(500) }
    assert.deepStrictEqual<unknown>(operatorRequests.decideApproval.request.decode(answer), Result.succeed(answer))
  })
})
