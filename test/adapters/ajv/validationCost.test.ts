import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { makeIsCheap } from "../../../src/adapters/ajv/schemaCompiler.ts"
import type { JsonObject } from "../../../src/domain/json.ts"

const isCheap = (schema: JsonObject, value: unknown): boolean =>
  makeIsCheap(schema, JSON.stringify(schema))?.(value) ?? false

const text = (length: number): string => "a".repeat(length)

const level = (references: number): JsonObject => ({
  $defs: { node: { anyOf: Array.from({ length: references }, () => ({ items: { $ref: "#/$defs/node" } })) } }
})

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

const tool: JsonObject = {
  type: "object",
  properties: {
    repository: { type: "string", pattern: "^[\\w.-]+/[\\w.-]{1,100}$", description: text(300) },
    branch: { type: "string", pattern: "^(?:main|dev)$" },
    day: { type: "string", format: "date", default: "2025-01-01" },
    id: { type: "string", pattern: "^[0-9a-f]{8}-[0-9a-f]{4}$" },
    labels: { type: "array", items: { $ref: "#/$defs/label" }, uniqueItems: true },
    author: { $ref: "#/$defs/label" }
  },
  $defs: { label: { type: "object", properties: { name: { type: "string", minLength: 1 } } } },
  required: ["repository"],
  additionalProperties: false
}

const isPattern = (pattern: string): boolean => {
  try {
    return new RegExp(pattern, "u") instanceof RegExp
  } catch {
    return false
  }
}

describe("validationCost", () => {
  for (const [title, schema, value] of [
    ["a typical tool", tool, { repository: "a/b", labels: [{ name: "bug" }], day: "2025-11-22" }],
    ["a long text without a pattern", { properties: { a: { type: "string" } } }, { a: text(1_000_000) }],
    ["a long text with a format", { format: "email" }, text(900_000)],
    ["a long text with one quantifier", { pattern: "^[a-z]+$" }, text(900_000)],
    ["a slug", { pattern: "^[a-z0-9]+(-[a-z0-9]+)*$" }, text(90)],
    ["a path", { pattern: "^(?:[\\w.]+/)*[\\w.]+$" }, text(90)],
    ["an optional group", { pattern: "^[0-9]+(\\.[0-9]+)?$" }, text(90)],
    ["a short text with some quantifiers", { pattern: "[a-z]+-?[0-9]*" }, text(30)],
    ["a deep value and one reference", level(1), nested(500)],
    ["uniqueItems for some hundred items", { uniqueItems: true }, Array.from({ length: 900 }, () => 1)]
  ] as const) {
    it(`counts as cheap: ${title}`, () => assert.isTrue(isCheap(schema, value)))
  }

  for (const [title, schema, value] of [
    ["nested quantifiers", { pattern: "^(a+)+$" }, text(30)],
    ["a separator that the repeated part matches", { pattern: "^(-[a-z-]+)*$" }, text(30)],
    ["a repeated group of two quantifiers", { pattern: "^([a-z]+[0-9]*-)+$" }, text(30)],
    ["nested quantifiers in patternProperties", { patternProperties: { "(a|a)*b": true } }, { [text(30)]: 1 }],
    ["nested quantifiers deep inside a schema", { allOf: [{ items: { not: { pattern: "(a?){9}" } } }] }, [text(30)]],
    ["many optional characters", { pattern: "a?a?a?a?a?a?a?a?aaaaaaaa" }, text(30)],
    ["many alternations", { pattern: "^(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)$" }, text(30)],
    ["a long text with an unanchored pattern", { pattern: "a+b" }, text(3000)],
    ["a value with very many parts", {}, Array.from({ length: 2000 }, () => 1)],
    [
      "many parts and many keywords",
      { items: { allOf: Array.from({ length: 900 }, () => ({ minimum: 1 })) } },
      Array.from({ length: 900 }, () => 1)
    ],
    ["many patterns", { allOf: Array.from({ length: 900 }, () => ({ pattern: "a+b" })) }, text(200)],
    [
      "many uniqueItems",
      { allOf: Array.from({ length: 90 }, () => ({ uniqueItems: true })) },
      Array.from({ length: 900 }, () => 1)
    ],
    ["a deep value and two references", level(2), nested(40)],
    ["references to references", level(40), nested(1)],
    ["a large schema", { description: text(20_000) }, 1]
  ] as const) {
    it(`counts as expensive: ${title}`, () => assert.isFalse(isCheap(schema, value)))
  }

  const pieces = ["a", "b", ".", "a*", "a+?", "[ab]", "(a|b)", "(?:a+)", "a{2,5}", "a{3}", "|", "^", "$", "(a*)"]
  const more = [
    "a?",
    "\\w+",
    "(a+){2}",
    "(a*)*",
    "(?=a*)",
    "(?<n>a+)",
    "\\1",
    "[^b]{0,9}",
    "(a|aa)+",
    "\\)+",
    "(-a+)*",
    "(a*,)+",
    "([ab]+-)*",
    "(.+-)*",
    "-",
    "(a?)?"
  ]
  const Patterns = Schema.Array(Schema.Literals([...pieces, ...more])).check(Schema.isMaxLength(12))
  const Lengths = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3000 }))

  it.prop(
    "never counts a slow pattern as cheap",
    [Patterns, Lengths],
    ([parts, length]) => {
      const pattern = parts.join("")
      const value = `${text(length)}!`
      if (!isPattern(pattern) || !isCheap({ pattern }, value)) return
      runInNewContext("new RegExp(pattern, 'u').test(value)", { pattern, value }, { timeout: 1000 })
    },
    { arbitrary: { runs: 500, size: 12 } }
  )
})
