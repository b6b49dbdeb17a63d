import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { decideByRules, makeRuleDecider } from "../../../src/domain/policy/decideByRules.ts"
import type { Rule } from "../../../src/domain/policy/parseRules.ts"
import { policyCall } from "./policyCall.ts"

const Patterns = (...patterns: ReadonlyArray<string>) =>
  Schema.optionalKey(Schema.NonEmptyArray(Schema.Literals([...patterns, "*", "none"])))

const Rules = Schema.Array(
  Schema.Struct({
    action: Schema.Literals(["allow", "ask", "deny"]),
    subject: Patterns("ann", "b*"),
    office: Patterns("team"),
    computer: Patterns("desk"),
    server: Patterns("notes", "files"),
    tool: Patterns("write", "w*", "notes/*", "files/read", "short"),
    annotations: Schema.optionalKey(Schema.Struct({ readOnlyHint: Schema.Boolean })),
    arguments: Schema.optionalKey(Schema.Struct({ path: Schema.Struct({ equals: Schema.Literals(["a", "b"]) }) }))
  })
)

/** The texts of calls are few, so that calls share tools. */
const Calls = Schema.Array(
  Schema.Struct({
    subject: Schema.Literals(["ann", "bob"]),
    office: Schema.Literals(["team", "other"]),
    computer: Schema.Literals(["desk", "lab"]),
    server: Schema.Literals(["notes", "files"]),
    tool: Schema.Literals(["write", "read"]),
    shortName: Schema.Literals(["write", "short"]),
    originalName: Schema.Literals(["write", "short"]),
    annotations: Schema.Struct({ readOnlyHint: Schema.Boolean }),
    params: Schema.Struct({ path: Schema.Literals(["a", "b"]) })
  })
)

const allow: Rule = { action: "allow", tool: ["write*"], reason: "may write" }

describe("makeRuleDecider", () => {
  it.prop("decides every call as decideByRules does", [Rules, Calls], ([rules, calls]) => {
    const decide = makeRuleDecider(rules)
    assert.deepStrictEqual(
      calls.map((call) => decide(call)),
      calls.map((call) => decideByRules(rules, call))
    )
  })

  it.each(["ask", "deny"] as const)("decides by a rule that names a tool with a slash: %s", (action) => {
    const rules: ReadonlyArray<Rule> = [
      { action: "allow", tool: ["files/read"], subject: ["agent"] },
      { action, tool: ["files/read"] }
    ]
    const call = { ...policyCall, tool: "files/read", shortName: "files/read", originalName: "files/read" }
    assert.strictEqual(decideByRules(rules, call)?.action, action)
    assert.strictEqual(makeRuleDecider(rules)(call)?.action, action)
  })

  it.each([
    ["server", { server: "files" }],
    ["short name", { shortName: "other" }],
    ["own name", { originalName: "other" }],
    ["Computer", { computer: "lab" }]
  ])("tells calls apart whose %s differs", (_name, difference) => {
    const [field = "", wanted = ""] = Object.entries(difference)[0] ?? []
    const rule: Rule = { action: "deny", ...(field.endsWith("Name") ? { tool: [wanted] } : { [field]: [wanted] }) }
    const decide = makeRuleDecider([rule])
    const [one, other] = [policyCall, { ...policyCall, ...difference }]
    assert.deepStrictEqual(
      [one, other, one].map((call) => decide(call)?.action),
      [undefined, "deny", undefined]
    )
  })

  it("decides calls of more tools than it remembers", () => {
    const decide = makeRuleDecider([{ action: "deny", tool: ["write5"] }, allow])
    const names = Array.from({ length: 2500 }, (_, index) => `write${index % 1250}`)
    const decided = names.map((tool) => decide({ ...policyCall, tool, shortName: tool, originalName: tool })?.by)
    assert.deepStrictEqual(
      decided,
      names.map((tool) => (tool === "write5" ? "rule 1" : "rule 2"))
    )
  })

  it("gives the reason of the rule", () => {
    assert.deepStrictEqual(makeRuleDecider([allow])(policyCall), { action: "allow", by: "rule 1", reason: "may write" })
  })

  it("gives no decision when no rule applies", () => {
    assert.isUndefined(makeRuleDecider([{ action: "deny", tool: ["other"] }])(policyCall))
  })
})
