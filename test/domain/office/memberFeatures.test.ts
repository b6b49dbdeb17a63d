import { assert, describe, it } from "@effect/vitest"
import {
  keepsOperatorNames,
  noMemberFeatures,
  operatorNamesKept,
  parseMemberFeatures
} from "../../../src/domain/office/memberFeatures.ts"

const words = {
  inspection: "inspection",
  operatorCalls: "operator_calls",
  approvals: "approvals",
  callStatus: "call_status",
  operatorNames: "operator_names"
} as const

const none = { inspection: false, operatorCalls: false, approvals: false, callStatus: false, operatorNames: false }

describe("the feature parser", () => {
  it("finds the features of all words, in each combination", () => {
    const features = Object.entries(words)
    for (let bits = 0; bits < 2 ** features.length; bits++) {
      const announced = features.filter((_, index) => (bits & (1 << index)) !== 0)
      const parsed = parseMemberFeatures({ a2c_features: ["later", ...announced.map(([, word]) => word)] })
      assert.deepStrictEqual(parsed, { ...none, ...Object.fromEntries(announced.map(([name]) => [name, true])) })
    }
  })

  it.each([
    undefined,
    null,
    "inspection",
    [],
    {},
    { a2c_features: "inspection" },
    { a2c_features: { 0: "inspection" } }
  ])("finds no feature without a list of words: %j", (auth) => {
    assert.deepStrictEqual(parseMemberFeatures(auth), none)
    assert.deepStrictEqual(noMemberFeatures, none)
  })
})

describe("the acknowledgement of a join", () => {
  it("says in its third value whether names of operators are kept", () => {
    const acks = [
      [true, null, operatorNamesKept],
      [true, null, { a2c_features: ["later", words.operatorNames] }],
      [true, null],
      [operatorNamesKept, operatorNamesKept],
      [true, null, { a2c_features: words.operatorNames }],
      [true, null, { a2c_features: ["later"] }]
    ]
    assert.deepStrictEqual(acks.map(keepsOperatorNames), [true, true, false, false, false, false])
    assert.deepStrictEqual(operatorNamesKept, { a2c_features: [words.operatorNames] })
  })
})
