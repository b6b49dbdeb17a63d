import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { checkConnectRights, checkJoinRights } from "../../../src/domain/office/grants.ts"
import { matchesPattern } from "../../../src/domain/wildcard.ts"
import { cpuTime } from "../../cpuTime.ts"
import { allGrants, type Grants, type Identity } from "../../../src/domain/model/Identity.ts"

/** Matches by trying every way to read the pattern. */
const reference = (pattern: string, text: string): boolean => {
  if (pattern === "") return text === ""
  if (pattern[0] !== "*") return pattern[0] === text[0] && reference(pattern.slice(1), text.slice(1))
  return reference(pattern.slice(1), text) || (text !== "" && reference(pattern, text.slice(1)))
}

const letters = (...given: ReadonlyArray<string>) => Schema.Array(Schema.Literals(given)).check(Schema.isMaxLength(5))

const grant = (grants: Partial<Grants>): Identity => ({
  subject: "desk",
  grants: { rights: ["computer"], offices: ["team*"], names: ["desk"], ...grants },
  expiresAt: undefined
})

describe("matchesPattern", () => {
  it.prop(
    "equals the exhaustive reference",
    [letters("a", "b", "*"), letters("a", "b")],
    ([pattern, text]) =>
      assert.strictEqual(matchesPattern(pattern.join(""), text.join("")), reference(pattern.join(""), text.join(""))),
    { arbitrary: { runs: 3000 } }
  )

  it.prop("matches only the text itself without a star", [Schema.String, Schema.String], ([one, other]) => {
    const [pattern, text] = [one.replaceAll("*", ""), other.replaceAll("*", "")]
    assert.isTrue(matchesPattern(pattern, pattern))
    assert.strictEqual(matchesPattern(pattern, text), pattern === text)
  })

  it.each([
    ["a*a", "a", false],
    ["ab*ba", "aba", false],
    ["ab*ba", "abba", true],
    ["a.c", "abc", false],
    ["[ab]", "a", false],
    ["a?", "ab", false],
    ["a.*(c)$", "a.b\n(c)$", true]
  ])("treats only the star as a placeholder, and both ends as apart: %s, %j, %s", (pattern, text, expected) => {
    assert.strictEqual(matchesPattern(pattern, text), expected)
  })

  it("takes time proportional to both lengths with many stars", () => {
    const taken = cpuTime(() => assert.isFalse(matchesPattern("*a".repeat(128) + "b", "a".repeat(256))))
    assert.isBelow(taken, 1000)
  })
})

describe("checkConnectRights", () => {
  it("requires the right to the stated role", () => {
    assert.isUndefined(checkConnectRights(grant({}), Option.some("computer")))
    assert.strictEqual(checkConnectRights(grant({}), Option.some("agent")), "'desk' may not be an Agent")
  })

  it("requires the right to any role without a stated one", () => {
    assert.isUndefined(checkConnectRights(grant({}), Option.none()))
    assert.strictEqual(
      checkConnectRights(grant({ rights: ["operator"] }), Option.none()),
      "'desk' may be neither an Agent nor a Computer"
    )
  })
})

describe("checkJoinRights", () => {
  const membership = { office: "team-1", role: "computer", name: "desk" } as const

  it("requires the role, the office and the name", () => {
    assert.isUndefined(checkJoinRights(grant({}), membership))
    assert.strictEqual(checkJoinRights(grant({ rights: ["agent"] }), membership), "'desk' may not be a Computer")
    assert.strictEqual(
      checkJoinRights(grant({ offices: ["other"] }), membership),
      "'desk' may not join office 'team-1'"
    )
    assert.strictEqual(checkJoinRights(grant({ names: ["d"] }), membership), "'desk' may not use the name 'desk'")
  })

  it("allows everything with all grants", () => {
    const identity = grant(allGrants)
    for (const role of ["agent", "computer"] as const) {
      assert.isUndefined(checkConnectRights(identity, Option.some(role)))
      assert.isUndefined(checkJoinRights(identity, { office: "any", role, name: "any" }))
    }
    assert.include(allGrants.rights, "operator")
  })

  it("rejects an identity without grants, and an operator without the right to a role", () => {
    for (const grants of [
      { offices: [] },
      { names: [] },
      { rights: ["operator"], offices: ["*"], names: ["*"] } as const
    ])
      assert.isDefined(checkJoinRights(grant(grants), membership))
  })
})
