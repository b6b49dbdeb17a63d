import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  approverName,
  type Caller,
  callerName,
  isInOffice,
  isOperatorLike,
  isSameCaller,
  officeCaller
} from "../../../src/domain/approvals/Caller.ts"
import { matchesPattern } from "../../../src/domain/wildcard.ts"

const names = [
  "operator:ann",
  "operator:",
  "operator:operator:ann",
  "OPERATOR:ann",
  "operator :ann",
  "operator\uff1aann",
  "\uff4fperator:ann",
  "\u24deperator\ufe55ann",
  " operator:ann",
  "\u043eperator:ann",
  "\u041eP\u0415RATOR:ann",
  "o\u0440\u0435r\u0430\u0442\u043er:ann",
  "\u03bfper\u03b1\u03c4or:ann",
  "\u1d0f\u1d18\u1d07\u0280\u1d00\u1d1b\u1d0f\u0280:ann",
  "operator\u2236ann",
  "operator\ua789ann",
  "operator\u0589ann",
  "\u00f3perator:ann",
  "o\u0301perator:ann"
]

const Word = Schema.Literals(["operator", "agent", "client", ":", " ", "ann", "OPERATOR", "\uff1a"])

const kinds: ReadonlyArray<(name: string) => Caller> = [
  (name) => ({ _tag: "Agent", name, membership: 1 }),
  (name) => ({ _tag: "Local", name })
]

describe("name of a caller", () => {
  it.each(names)("is not that of an operator for an Agent or a local client: %s", (name) => {
    assert.isTrue(isOperatorLike(name))
    for (const kind of kinds) assert.isFalse(isOperatorLike(callerName(kind(name))))
    assert.strictEqual(callerName(officeCaller(name, 1, false)), `agent ${name}`)
  })

  it.each([
    "ann",
    "\u043e\u043f\u0435\u0440\u0430\u0442\u043e\u0440:ann",
    "\u00f6perateur:ann",
    "operator",
    "agent",
    "agent ann",
    "owner",
    "my-operator:ann",
    "client:ann",
    ""
  ])("is the name itself otherwise: %s", (name) => {
    for (const kind of kinds) assert.strictEqual(callerName(kind(name)), name)
  })

  it("differs for the names that a distinguished one looks like", () => {
    for (const kind of kinds) {
      const word = callerName(kind("operator:ann")).split(" ")[0] ?? ""
      const names = ["operator:ann", `${word} operator:ann`, `${word} ${word} operator:ann`]
      assert.strictEqual(new Set(names.map((name) => callerName(kind(name)))).size, names.length)
    }
  })

  it("is that of an operator where its Server proves it", () => {
    assert.strictEqual(callerName(officeCaller("operator:ann", 1, true)), "operator:ann")
    assert.strictEqual(callerName(officeCaller("operator:ann", 1, false)), "agent operator:ann")
  })

  it.prop(
    "matches no pattern of operators, and differs for different names",
    [Schema.Array(Word).check(Schema.isMaxLength(6)), Schema.Array(Word).check(Schema.isMaxLength(6))],
    ([first, second]) => {
      const [one, other] = [first.join(""), second.join("")]
      for (const kind of kinds) {
        assert.isFalse(matchesPattern("operator:*", callerName(kind(one))))
        assert.strictEqual(callerName(kind(one)) === callerName(kind(other)), one === other)
      }
    }
  )
})

describe("name of an approver", () => {
  it.each([
    ["operator:ann", true, "operator:ann"],
    ["operator:ann", false, "agent operator:ann"],
    ["ada", true, "agent ada"],
    ["agent operator:ann", false, "agent agent operator:ann"]
  ] as const)("states the kind of the caller that decides: %s, %s", (name, isProven, by) => {
    assert.strictEqual(approverName({ _tag: "agent", caller: officeCaller(name, 1, isProven) }), by)
  })
})

const ann = officeCaller("ann", 1, true)

describe("the caller of a request from the office", () => {
  it("is an operator by the prefix of its name, and else an Agent", () => {
    assert.deepStrictEqual(officeCaller("operator:ann", 2, true), { _tag: "Operator", subject: "ann", membership: 2 })
    for (const name of ["ann", "an operator:ann"])
      assert.deepStrictEqual(officeCaller(name, 2, true), { _tag: "Agent", name, membership: 2 })
  })

  it.each<readonly [string, Caller, boolean]>([
    ["itself", officeCaller("ann", 1, true), true],
    ["a later member of its name", officeCaller("ann", 2, true), false],
    ["another member", officeCaller("bob", 1, true), false],
    ["an operator of its name", officeCaller("operator:ann", 1, true), false],
    ["an Agent under the name of an operator", { _tag: "Agent", name: "operator:ann", membership: 1 }, false],
    ["a local client of its name", { _tag: "Local", name: "ann" }, false],
    ["the owner", { _tag: "Owner" }, false]
  ])("compared with %s", (_, other, isSame) => {
    assert.deepStrictEqual([isSameCaller(ann, other), isSameCaller(other, ann)], [isSame, isSame])
  })

  it("differs from callers outside the office", () => {
    const inside: ReadonlyArray<Caller> = [ann, officeCaller("operator:ann", 1, true)]
    const outside: ReadonlyArray<Caller> = [{ _tag: "Local", name: "ann" }, { _tag: "Owner" }]
    assert.deepStrictEqual([...inside, ...outside].filter(isInOffice), inside)
  })
})
