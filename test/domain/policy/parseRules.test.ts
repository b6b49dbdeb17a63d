import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseRules } from "../../../src/domain/policy/parseRules.ts"
import { formatIssues } from "../../../src/domain/validation.ts"

const errorsOf = (value: unknown): string =>
  Result.match(parseRules(value), { onFailure: formatIssues, onSuccess: () => "valid" })

describe("parseRules", () => {
  it("reads single patterns and values as lists and tests", () => {
    const rules = [
      {
        action: "ask",
        reason: "writes",
        subject: "agent",
        office: ["team", "lab*"],
        computer: "desk",
        server: "notes",
        tool: ["write*"],
        annotations: { readOnlyHint: false },
        arguments: { path: { matches: "docs/*" }, force: true, name: null, "/a/b": { oneOf: [1, "x"], atMost: 3 } }
      },
      { action: "deny" }
    ]
    assert.deepStrictEqual(Result.getOrThrow(parseRules({ rules })), [
      {
        action: "ask",
        reason: "writes",
        annotations: { readOnlyHint: false },
        subject: ["agent"],
        office: ["team", "lab*"],
        computer: ["desk"],
        server: ["notes"],
        tool: ["write*"],
        arguments: {
          path: { matches: ["docs/*"] },
          force: { equals: true },
          name: { equals: null },
          "/a/b": { oneOf: [1, "x"], atMost: 3 }
        }
      },
      { action: "deny" }
    ])
  })

  it.each<readonly [string, unknown, string]>([
    ["no object", [], ""],
    ["no rules", {}, "rules"],
    ["no action", { rules: [{ tool: "a" }] }, "rules[0].action"],
    ["an unknown action", { rules: [{ action: "permit" }] }, "rules[0].action"],
    ["a misspelled condition", { rules: [{ action: "allow", tools: "a" }] }, "rules[0].tools"],
    ["a misspelled annotation", { rules: [{ action: "allow", annotations: { readonly: true } }] }, "readonly"],
    ["a misspelled test", { rules: [{ action: "allow", arguments: { a: { is: 1 } } }] }, "rules[0].arguments.a"],
    ["an empty list", { rules: [{ action: "allow", tool: [] }] }, "rules[0].tool"],
    ["an empty pattern", { rules: [{ action: "allow", tool: "" }] }, "rules[0].tool"],
    ["another top-level member", { rules: [], default: "deny" }, "default"],
    ["too many rules", { rules: Array.from({ length: 1001 }, () => ({ action: "deny" })) }, "rules"],
    ["a long pattern", { rules: [{ action: "allow", tool: "x".repeat(501) }] }, "rules[0].tool"]
  ])("rejects %s with its place", (_, value, place) => {
    const errors = errorsOf(value)
    assert.notStrictEqual(errors, "valid")
    assert.include(errors, place)
  })
})
