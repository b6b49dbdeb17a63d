import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { covers, mayConnect, mayJoin } from "../../../src/domain/office/grants.ts"
import type { Grants, Identity } from "../../../src/domain/office/identity.ts"

/** The same question, answered by trying every way to read the pattern. */
const reference = (pattern: string, text: string): boolean => {
  if (pattern === "") return text === ""
  if (pattern[0] !== "*") return pattern[0] === text[0] && reference(pattern.slice(1), text.slice(1))
  return reference(pattern.slice(1), text) || (text !== "" && reference(pattern, text.slice(1)))
}

const letters = (...given: ReadonlyArray<string>) =>
  Schema.Array(Schema.Literals(given)).check(Schema.isMaxLength(5))

const grant = (grants: Partial<Grants>): Identity => ({
  subject: "desk",
  grants: { rights: ["computer"], offices: ["team*"], names: ["desk"], ...grants },
  expiresAt: undefined
})

describe("a pattern", () => {
  it.prop(
    "covers what trying everything says it covers",
    [letters("a", "b", "*"), letters("a", "b")],
    ([pattern, text]) =>
      assert.strictEqual(covers(pattern.join(""), text.join("")), reference(pattern.join(""), text.join(""))),
    { arbitrary: { runs: 3000 } }
  )

  it.prop("without a star covers itself alone", [Schema.String, Schema.String], ([one, other]) => {
    const [pattern, text] = [one.replaceAll("*", ""), other.replaceAll("*", "")]
    assert.isTrue(covers(pattern, pattern))
    assert.strictEqual(covers(pattern, text), pattern === text)
  })

  it("needs a text with room for its start and its end", () => {
    assert.isFalse(covers("a*a", "a"))
    assert.isFalse(covers("ab*ba", "aba"))
    assert.isTrue(covers("ab*ba", "abba"))
  })

  it("takes everything but the star for what it is", () => {
    assert.isFalse(covers("a.c", "abc"))
    assert.isFalse(covers("[ab]", "a"))
    assert.isFalse(covers("a?", "ab"))
    assert.isTrue(covers("a.*(c)$", "a.b\n(c)$"))
  })

  it("of many stars costs no more than its length times that of the text", () => {
    const started = process.hrtime.bigint()
    assert.isFalse(covers("*a".repeat(128) + "b", "a".repeat(256)))
    assert.isBelow(Number(process.hrtime.bigint() - started), 1e9)
  })
})

describe("who may connect", () => {
  it("needs the right to the role it states", () => {
    assert.isUndefined(mayConnect(grant({}), Option.some("computer")))
    assert.strictEqual(mayConnect(grant({}), Option.some("agent")), "'desk' may not be an Agent")
  })

  it("needs the right to some role when it states none", () => {
    assert.isUndefined(mayConnect(grant({}), Option.none()))
    assert.strictEqual(
      mayConnect(grant({ rights: ["operator"] }), Option.none()),
      "'desk' may be neither an Agent nor a Computer"
    )
  })
})

describe("who may take a seat", () => {
  const seat = { office: "team-1", role: "computer", name: "desk" } as const

  it("needs the role, the office and the name", () => {
    assert.isUndefined(mayJoin(grant({}), seat))
    assert.strictEqual(mayJoin(grant({ rights: ["agent"] }), seat), "'desk' may not be a Computer")
    assert.strictEqual(mayJoin(grant({ offices: ["other"] }), seat), "'desk' may not join room 'team-1'")
    assert.strictEqual(mayJoin(grant({ names: ["d"] }), seat), "'desk' may not go by the name 'desk'")
  })

  it("may not when nothing is granted", () => {
    assert.isDefined(mayJoin(grant({ offices: [] }), seat))
    assert.isDefined(mayJoin(grant({ names: [] }), seat))
  })

  it("does not get the seats of members by the right of an operator", () =>
    assert.isDefined(mayJoin(grant({ rights: ["operator"], offices: ["*"], names: ["*"] }), seat)))
})
