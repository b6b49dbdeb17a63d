import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  approverName,
  type Caller,
  callerName,
  isOperatorLike,
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
  " operator:ann"
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

  it.each(["ann", "operator", "agent", "agent ann", "owner", "my-operator:ann", "client:ann", ""])(
    "is the name itself otherwise: %s",
    (name) => {
      for (const kind of kinds) assert.strictEqual(callerName(kind(name)), name)
    }
  )

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
