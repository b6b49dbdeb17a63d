import { assert, describe, it } from "@effect/vitest"
import { areas, filesOf } from "./areas.ts"
import { reasonToIgnore } from "./messages.ts"
import { type Mutant, scoreOf, survivors, table } from "./report.ts"

const mutant = (outcome: Mutant["outcome"], given: Partial<Mutant> = {}): Mutant => ({
  file: "src/domain/a.ts",
  line: 1,
  operator: "EqualityOperator",
  original: "a < b",
  mutated: "a <= b",
  outcome,
  ...given
})

describe("the mutation score", () => {
  it("is the share of mutants that a test noticed, without ignored ones and errors", () =>
    assert.strictEqual(
      scoreOf((["killed", "killed", "timeout", "survived", "ignored", "error"] as const).map((one) => mutant(one))),
      75
    ))

  it("counts a mutant that no test reaches as a survivor", () =>
    assert.strictEqual(scoreOf([mutant("killed"), mutant("uncovered")]), 50))

  it("is 100 without mutants", () => assert.strictEqual(scoreOf([]), 100))
})

describe("the report of a mutation test", () => {
  it("lists survivors with place, operator, original and replacement", () =>
    assert.deepStrictEqual(
      survivors([
        mutant("survived", { line: 12 }),
        mutant("killed"),
        mutant("uncovered", { line: 3, original: "{\n  stop()\n}", mutated: "{}" })
      ]),
      [
        "src/domain/a.ts:3 EqualityOperator { stop() } → {} (no test reaches it)",
        "src/domain/a.ts:12 EqualityOperator a < b → a <= b"
      ]
    ))

  it("has a row for each folder and one for all", () =>
    assert.deepStrictEqual(
      table([mutant("killed"), mutant("survived", { file: "src/application/b.ts" })])
        .split("\n")
        .map((line) => line.split(/ +/)),
      [
        ["folder", "killed", "timeout", "survived", "uncovered", "ignored", "error", "score"],
        ["src/application", "0", "0", "1", "0", "0", "0", "0.0"],
        ["src/domain", "1", "0", "0", "0", "0", "0", "100.0"],
        ["all", "1", "0", "1", "0", "0", "0", "50.0"]
      ]
    ))
})

describe("an area of the mutation tests", () => {
  it.each(areas)("has sources and tests: $name", (area) => {
    for (const pattern of [...area.sources, ...area.tests, ...area.widerTests]) {
      assert.isNotEmpty(filesOf({ ...area, sources: [pattern] }, []), pattern)
    }
  })

  it("limits its files to the given paths", () => {
    const [domain] = areas
    assert.isDefined(domain)
    if (domain === undefined) return
    assert.include(filesOf(domain, ["./src/domain/office/"]), "src/domain/office/decideMembership.ts")
    assert.isTrue(filesOf(domain, ["src/domain/office"]).every((file) => file.startsWith("src/domain/office/")))
    assert.deepStrictEqual(filesOf(domain, ["src/domain/off"]), [])
  })
})

describe("the filter of mutants", () => {
  const reasonOf = (value: string) => reasonToIgnore({ node: { type: "StringLiteral", value } })

  it.each(["Already in office", "Expected a number", "not found: "])("excludes texts for people: %s", (text) =>
    assert.strictEqual(reasonOf(text), "text for people")
  )

  it.each(["agent", "client:tool_call", "text/plain; charset=utf-8", "window://", ""])(
    "keeps words of the protocol: %s",
    (text) => assert.isUndefined(reasonOf(text))
  )

  it("excludes log lines", () => {
    const callee = {
      type: "MemberExpression",
      object: { type: "Identifier", name: "Effect" },
      property: { type: "Identifier", name: "logWarning" }
    }
    assert.strictEqual(reasonToIgnore({ node: { type: "CallExpression", callee } }), "log line")
  })

  it("excludes options that discard results, and keeps others", () => {
    const option = (name: string) => ({
      type: "ObjectProperty",
      key: { type: "Identifier", name },
      value: { type: "BooleanLiteral", value: true }
    })
    const options = (...names: ReadonlyArray<string>) =>
      reasonToIgnore({ node: { type: "ObjectExpression", properties: names.map(option) } })
    assert.strictEqual(options("discard"), "no effect")
    assert.isUndefined(options("discard", "concurrency"))
    assert.isUndefined(options())
  })

  it("excludes patterns whose mutants are no patterns, and keeps others", () => {
    const reasonOfPattern = (pattern: string) => reasonToIgnore({ node: { type: "RegExpLiteral", pattern } })
    assert.strictEqual(reasonOfPattern(String.raw`\p{RGI_Emoji}`), "invalid mutant")
    assert.isUndefined(reasonOfPattern(String.raw`\p{L}+`))
  })
})
