import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { decideByRules, explainByRules, decideCall } from "../../../src/domain/policy/decideByRules.ts"
import type { Rule } from "../../../src/domain/policy/parseRules.ts"
import { policyCall as call } from "./policyCall.ts"

describe("decideByRules", () => {
  it("decides nothing without rules", () => {
    assert.isUndefined(decideByRules([], call))
  })

  it("decides by the first rule that applies", () => {
    const rules: ReadonlyArray<Rule> = [
      { action: "deny", tool: ["erase"] },
      { action: "ask", tool: ["wr*"], reason: "writes need a person" },
      { action: "allow" }
    ]
    assert.deepStrictEqual(decideByRules(rules, call), { action: "ask", by: "rule 2", reason: "writes need a person" })
    assert.deepStrictEqual(explainByRules(rules, call), {
      decision: { action: "ask", by: "rule 2", reason: "writes need a person" },
      steps: [
        { rule: "rule 1", action: "deny", mismatch: "tool" },
        { rule: "rule 2", action: "ask", mismatch: undefined }
      ]
    })
  })

  it("decides nothing when no rule applies", () => {
    const rules: ReadonlyArray<Rule> = [{ action: "deny", tool: ["erase"] }]
    assert.isUndefined(decideByRules(rules, call))
    assert.deepStrictEqual(explainByRules(rules, call), {
      decision: undefined,
      steps: [{ rule: "rule 1", action: "deny", mismatch: "tool" }]
    })
  })

  const Name = Schema.Literals(["a", "b", "ab", "*", "a*", "s/a", "s/*"])
  const Names = Schema.Array(Name).check(Schema.isMinLength(1))
  const Rules = Schema.Array(
    Schema.Struct({
      action: Schema.Literals(["allow", "ask", "deny"]),
      subject: Schema.optionalKey(Names),
      server: Schema.optionalKey(Names),
      tool: Schema.optionalKey(Names),
      annotations: Schema.optionalKey(Schema.Struct({ readOnlyHint: Schema.Boolean })),
      arguments: Schema.optionalKey(Schema.Struct({ a: Schema.Struct({ equals: Schema.Literals(["a", "b"]) }) }))
    })
  )
  const Facts = Schema.Struct({
    subject: Schema.Literals(["a", "b"]),
    tool: Schema.Literals(["a", "b", "ab"]),
    params: Schema.Struct({ a: Schema.optionalKey(Schema.Literals(["a", "b"])) }),
    annotations: Schema.Struct({ readOnlyHint: Schema.Boolean })
  })

  it.prop(
    "agrees with its explanation",
    [Rules, Facts],
    ([rules, facts]) => {
      const tried = { ...call, server: "s", ...facts, shortName: facts.tool, originalName: facts.tool }
      const decision = decideByRules(rules, tried)
      const { decision: explained, steps } = explainByRules(rules, tried)
      assert.deepStrictEqual(explained, decision)
      assert.isTrue(steps.slice(0, -1).every(({ mismatch }) => mismatch !== undefined))
      assert.strictEqual(steps.at(-1)?.mismatch === undefined && steps.length > 0, decision !== undefined)
      assert.strictEqual(decision === undefined ? rules.length : Number(decision.by.slice(5)), steps.length)
    },
    { arbitrary: { runs: 500 } }
  )
})

describe("decideCall", () => {
  const consent = { approve: [], autoApply: false, standing: undefined }

  it("needs consent by default", () => {
    assert.deepStrictEqual(decideCall(undefined, call, consent), { action: "ask", by: "default" })
  })

  it("allows a tool that is marked auto_apply", () => {
    assert.deepStrictEqual(decideCall(undefined, call, { ...consent, autoApply: true }), {
      action: "allow",
      by: "auto_apply"
    })
  })

  it("allows a tool that matches an approved pattern", () => {
    const allowed = { action: "allow", by: "approved pattern" }
    assert.deepStrictEqual(decideCall(undefined, call, { ...consent, approve: ["notes/wr*"] }), allowed)
    assert.strictEqual(decideCall(undefined, call, { ...consent, approve: ["other/*"] }).action, "ask")
  })

  it.each(["ask", "deny", "allow"] as const)("lets the policy decide before the standing consent: %s", (action) => {
    const decision = { action, by: "rule 1" }
    assert.strictEqual(decideCall(decision, call, { autoApply: true, approve: ["*"], standing: undefined }), decision)
  })

  const standing = { id: "g", server: "notes", tool: "write", toolDigest: "d", by: "ann", at: 0 }

  it("answers by a grant what would need consent, by default or by a rule", () => {
    const allowed = { action: "allow", by: "grant of ann" }
    assert.deepStrictEqual(decideCall(undefined, call, { ...consent, standing }), allowed)
    assert.deepStrictEqual(decideCall({ action: "ask", by: "rule 1" }, call, { ...consent, standing }), allowed)
  })

  it.each(["deny", "allow"] as const)("does not ask a grant when the policy decides: %s", (action) => {
    const decision = { action, by: "rule 1" }
    assert.strictEqual(decideCall(decision, call, { ...consent, standing }), decision)
  })
})
