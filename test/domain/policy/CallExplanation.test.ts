import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { operatorRequests } from "../../../src/domain/page/operatorRequests.ts"
import { toExplanationView } from "../../../src/domain/policy/CallExplanation.ts"
import type { Rule } from "../../../src/domain/policy/parseRules.ts"
import { explainByRules } from "../../../src/domain/policy/decideByRules.ts"
import { policyCall as call } from "./policyCall.ts"

const viewOf = (rules: ReadonlyArray<Rule>) => {
  const { decision = { action: "ask" as const, by: "default" }, steps } = explainByRules(rules, call)
  return toExplanationView({ call, steps, decision, canAsk: true })
}

const others = (count: number): ReadonlyArray<Rule> =>
  Array.from({ length: count }, () => ({ action: "deny", tool: ["another tool"] }))

describe("explanation in a message", () => {
  it("has the last rules that were compared, of which one decides", () => {
    const { decision, steps } = viewOf([...others(300), { action: "allow" }])
    assert.strictEqual(steps.length, 200)
    assert.deepStrictEqual(steps.at(-1), { rule: "rule 301", action: "allow" })
    assert.deepStrictEqual(decision, { action: "allow", by: "rule 301" })
  })

  it("names the condition of a rule that does not apply", () => {
    assert.deepStrictEqual(viewOf([...others(1), { action: "allow" }]).steps, [
      { rule: "rule 1", action: "deny", mismatch: "tool" },
      { rule: "rule 2", action: "allow" }
    ])
  })

  it("has a text of the greatest length unchanged", () => {
    const reason = "x".repeat(2000)
    assert.strictEqual(viewOf([{ action: "deny", reason }]).decision.reason, reason)
  })

  it("is truncated to fit its schema", () => {
    const view = viewOf([{ action: "deny", reason: `${"x".repeat(1998)}😀😀` }])
    assert.match(view.decision.reason ?? "", /^x{1998}\ufffd…$/)
    assert.deepStrictEqual(
      operatorRequests.explainCall.reply.decode(operatorRequests.explainCall.reply.encode(view)),
      Result.succeed(view)
    )
  })
})
