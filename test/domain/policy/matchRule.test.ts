import { assert, describe, it } from "@effect/vitest"
import { findMismatch, matchesTool } from "../../../src/domain/policy/matchRule.ts"
import type { ArgumentTest, Rule } from "../../../src/domain/policy/parseRules.ts"
import type { PolicyCall } from "../../../src/domain/policy/Rule.ts"
import { policyCall } from "./policyCall.ts"
import type { JsonObject } from "../../../src/domain/json.ts"

const call: PolicyCall = { ...policyCall, tool: "notes_write" }

const mismatchOf = (rule: Partial<Rule>, facts: Partial<PolicyCall> = {}) =>
  findMismatch({ action: "allow", ...rule }, { ...call, ...facts })

describe("patterns of a rule", () => {
  it("lets a rule without conditions apply to every call", () => {
    assert.isUndefined(mismatchOf({}))
  })

  it.each([
    ["subject", "agent", "other"],
    ["office", "te*", "t"],
    ["computer", "*sk", "desktop"],
    ["server", "notes", "note"],
    ["tool", "notes_*", "notes"]
  ] as const)("compares %s with %j and not with %j", (condition, matching, other) => {
    assert.isUndefined(mismatchOf({ [condition]: ["none", matching] }))
    assert.strictEqual(mismatchOf({ [condition]: ["none", other] }), condition)
  })

  it("matches no office of a call outside an office", () => {
    assert.strictEqual(mismatchOf({ office: ["*"] }, { office: undefined }), "office")
  })

  it.each(["write", "notes_write", "notes/write", "notes/notes_write", "*/write", "w*"])(
    "matches a tool by its exposed or short name: %s",
    (pattern) => {
      assert.isTrue(matchesTool([pattern], call))
      assert.isUndefined(mismatchOf({ tool: [pattern] }))
    }
  )

  it.each(["erase", "notes_erase", "notes/erase", "notes/notes_erase", "*/erase", "er*", "write", "notes_write"])(
    "matches an aliased tool by %s",
    (pattern) => {
      const aliased = { ...call, originalName: "erase" }
      assert.isTrue(matchesTool([pattern], aliased))
      assert.isUndefined(findMismatch({ action: "deny", tool: [pattern] }, aliased))
    }
  )

  it.each(["fs/erase", "fs/*", "*/erase", "notes/fs/erase"])(
    "asks and denies by a name with a slash: %s",
    (pattern) => {
      const slashed = { ...call, tool: "fs/erase", shortName: "fs/erase", originalName: "fs/erase" }
      for (const action of ["ask", "deny"] as const)
        assert.isUndefined(findMismatch({ action, tool: [pattern] }, slashed))
    }
  )

  it.each([
    ["exposed", { tool: "fs/erase" }],
    ["short", { shortName: "fs/erase" }],
    ["original", { originalName: "fs/erase" }]
  ] as const)("denies by an %s name with a slash", (_, names) => {
    assert.isUndefined(findMismatch({ action: "deny", tool: ["fs/*"] }, { ...call, ...names }))
  })

  it("allows no tool of another MCP server by a name with a slash", () => {
    const slashed = { ...call, server: "foreign", tool: "notes/write", shortName: "notes/write" }
    assert.strictEqual(findMismatch({ action: "allow", tool: ["notes/*"] }, slashed), "tool")
    assert.isFalse(matchesTool(["notes/*"], slashed))
  })

  it.each(["other/write", "notes/", "writ", "rite", "notes"])("does not match a tool by %s", (pattern) => {
    assert.isFalse(matchesTool([pattern], call))
  })

  it("requires every condition, and reports the first that is not met", () => {
    const rule: Partial<Rule> = { subject: ["agent"], server: ["other"], tool: ["none"] }
    assert.strictEqual(mismatchOf(rule), "server")
    assert.strictEqual(mismatchOf({ ...rule, server: ["notes"] }), "tool")
  })
})

describe("annotations of a rule", () => {
  const cases: ReadonlyArray<readonly [annotations: JsonObject | undefined, name: string, value: boolean]> = [
    [undefined, "readOnlyHint", false],
    [undefined, "destructiveHint", true],
    [undefined, "idempotentHint", false],
    [undefined, "openWorldHint", true],
    [{ readOnlyHint: true }, "readOnlyHint", true],
    [{ readOnlyHint: true, destructiveHint: true }, "destructiveHint", false],
    [{ readOnlyHint: false }, "destructiveHint", true],
    [{ destructiveHint: false }, "destructiveHint", false],
    [{ idempotentHint: true }, "idempotentHint", true],
    [{ openWorldHint: false }, "openWorldHint", false],
    [{ readOnlyHint: "true" }, "readOnlyHint", false],
    [{ openWorldHint: 0 }, "openWorldHint", true]
  ]

  it.each(cases)("reads %j as the value of %s: %s", (annotations, name, value) => {
    assert.isUndefined(mismatchOf({ annotations: { [name]: value } }, { annotations }))
    assert.strictEqual(mismatchOf({ annotations: { [name]: !value } }, { annotations }), `annotations.${name}`)
  })

  it("requires every annotation", () => {
    const annotations = { readOnlyHint: true, openWorldHint: true }
    assert.strictEqual(
      mismatchOf({ annotations }, { annotations: { readOnlyHint: true, openWorldHint: false } }),
      "annotations.openWorldHint"
    )
  })
})

describe("arguments of a rule", () => {
  const params = {
    path: "docs/a.txt",
    count: 3,
    force: false,
    none: null,
    digits: "3",
    list: ["a", { deep: 1 }],
    long: Array.from({ length: 13 }, (_, index) => index),
    "a/b": { "~c": "x" }
  }

  const meets = (argument: string, test: ArgumentTest, given: JsonObject = params) =>
    mismatchOf({ arguments: { [argument]: test } }, { params: given }) === undefined

  it.each<readonly [string, ArgumentTest]>([
    ["path", { equals: "docs/a.txt" }],
    ["path", { oneOf: ["b", "docs/a.txt"] }],
    ["path", { matches: ["src/*", "docs/*"] }],
    ["path", { present: true }],
    ["path", {}],
    ["count", { equals: 3 }],
    ["count", { atLeast: 3 }],
    ["count", { atMost: 3 }],
    ["count", { atLeast: 1, atMost: 5 }],
    ["force", { equals: false }],
    ["none", { equals: null }],
    ["none", { oneOf: [null] }],
    ["none", { present: true }],
    ["missing", { present: false }],
    ["list", { present: true }],
    ["/path", { equals: "docs/a.txt" }],
    ["/list/0", { equals: "a" }],
    ["/long/12", { equals: 12 }],
    ["/list/1/deep", { equals: 1 }],
    ["/a~1b/~0c", { equals: "x" }]
  ])("accepts the argument %s by %j", (argument, test) => {
    assert.isTrue(meets(argument, test))
  })

  it.each<readonly [string, ArgumentTest]>([
    ["path", { equals: "docs" }],
    ["path", { oneOf: ["docs"] }],
    ["path", { matches: ["docs"] }],
    ["path", { present: false }],
    ["path", { atLeast: 0 }],
    ["path", { atMost: 9 }],
    ["count", { equals: "3" }],
    ["count", { matches: ["*"] }],
    ["digits", { atLeast: 1 }],
    ["digits", { atMost: 9 }],
    ["count", { atLeast: 4 }],
    ["count", { atMost: 2 }],
    ["count", { atLeast: 1, atMost: 2 }],
    ["missing", { present: true }],
    ["missing", {}],
    ["missing", { equals: null }],
    ["missing", { matches: ["*"] }],
    ["none", { present: false }],
    ["list", { oneOf: ["a"] }],
    ["list", { matches: ["*"] }],
    ["/list/00", { present: true }],
    ["/list/length", { present: true }],
    ["/list/2", { present: true }],
    ["/path/length", { present: true }],
    ["toString", { present: true }],
    ["/list/-1", { present: true }],
    ["a/b", { equals: "x" }]
  ])("rejects the argument %s by %j", (argument, test) => {
    assert.isFalse(meets(argument, test))
  })

  it("lets a test without a value apply to no call", () => {
    const tests = { path: undefined } as unknown as NonNullable<Rule["arguments"]>
    assert.strictEqual(mismatchOf({ arguments: tests }, { params }), "arguments.path")
  })

  it("names the argument that is not met", () => {
    const rule = { arguments: { path: { present: true }, count: { atMost: 1 } } }
    assert.strictEqual(mismatchOf(rule, { params }), "arguments.count")
  })
})
