import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { officeHash, officesHash, officeViews, parseRoute } from "../../../src/domain/page/route.ts"

describe("parseRoute", () => {
  it.each(["", "#", "#/", officesHash, "#/office", "#/office/0.2/", "#/office/%/team"])(
    "gives the list of offices for %s",
    (hash) => {
      assert.deepStrictEqual(parseRoute(hash), { _tag: "Offices" })
    }
  )

  it.each([
    ["overview", "#/office/0.2/team"],
    ["overview", "#/office/0.2/team/inbox"],
    ["activity", "#/office/0.2/team/activity"],
    ["unknown", "#/office/0.2/team/elsewhere"]
  ] as const)("gives the view %s for %s", (view, hash) => {
    const address = { line: "0.2", office: "team" }
    assert.deepStrictEqual(parseRoute(hash), { _tag: "Office", address, view, parameters: {} })
  })

  it("ignores parameters that are not encoded correctly", () => {
    const route = parseRoute("#/office/0.2/team/tools?q=a%20b&x=%&=y")
    assert.deepStrictEqual(route._tag === "Office" && route.parameters, { q: "a b" })
  })

  it.prop(
    "parses what officeHash formats",
    [Schema.NonEmptyString, Schema.NonEmptyString, Schema.Record(Schema.NonEmptyString, Schema.NonEmptyString)],
    ([line, office, given]) => {
      const parameters = Object.fromEntries(
        Object.values(given).map((value, index) => [`p${index}`, value.toWellFormed()])
      )
      for (const view of officeViews) {
        assert.deepStrictEqual(parseRoute(officeHash({ line, office }, view, parameters)), {
          _tag: "Office",
          address: { line: line.toWellFormed(), office: office.toWellFormed() },
          view,
          parameters
        })
      }
    }
  )
})

describe("officeHash", () => {
  it("leaves out parameters without a value", () => {
    assert.strictEqual(
      officeHash({ line: "0.2", office: "a/b" }, "activity", { call: undefined, filter: "", q: "x" }),
      "#/office/0.2/a%2Fb/activity?q=x"
    )
  })
})
