import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { longestTextOf } from "../../../src/domain/schemas/longestTextOf.ts"

/** Steps that take some tens of milliseconds. */
const maxSteps = 1_000_000

const isPattern = (pattern: string): boolean => {
  try {
    return new RegExp(pattern, "u") instanceof RegExp
  } catch {
    return false
  }
}

describe("longestTextOf", () => {
  for (const [title, pattern, longest] of [
    ["a pattern without repetitions", "^[0-9a-f]{8}-[0-9a-f]{4}$", Number.POSITIVE_INFINITY],
    ["one repetition", "^[a-z]+$", 1_000_000],
    ["an open start", "a+b", 1000],
    ["alternatives", "^(?:main|dev)$", 500_000],
    ["a slug", "^[a-z0-9]+(-[a-z0-9]+)*$", 99],
    ["a path", "^(?:[\\w.]+/)*[\\w.]+$", 99],
    ["an optional group", "^[0-9]+(\\.[0-9]+)?$", 707],
    ["an address", "^https?://[^/]+/.+$", 707],
    [
      "an address with limits",
      "^https?:\\/\\/(www\\.)?[-\\w@:%.+~#=]{1,256}\\.[\\w()]{1,6}\\b[-\\w()@:%+.~#?&/=]*$",
      162
    ],
    ["a list of 250 words", `^(?:${Array.from({ length: 250 }, (_, at) => `W${at}`).join("|")})$`, 4000],
    ["many optional characters", `^${"a?".repeat(21)}$`, 0],
    ["nested quantifiers", "^(a+)+$", 0],
    ["nested quantifiers of alternatives", "(a|a)*b", 0],
    ["a separator that the repeated part matches", "^(-[a-z-]+)*$", 0],
    ["a repeated group of two quantifiers", "^([a-z]+[0-9]*-)+$", 0],
    ["a counted group of an optional character", "(a?){2,9}", 0]
  ] as const) {
    it(`bounds the text of ${title}`, () => assert.strictEqual(longestTextOf(pattern, maxSteps), longest))
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
    "never takes a slow pattern for a fast one",
    [Patterns, Lengths],
    ([parts, length]) => {
      const pattern = parts.join("")
      const value = `${"a".repeat(length)}!`
      if (!isPattern(pattern) || value.length > longestTextOf(pattern, maxSteps)) return
      runInNewContext("new RegExp(pattern, 'u').test(value)", { pattern, value }, { timeout: 1000 })
    },
    { arbitrary: { runs: 500, size: 12 } }
  )
})
