import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { findJsonError } from "../../../../src/domain/page/form/formDraft.ts"

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe("findJsonError", () => {
  it.each([
    ["", "line 1, column 1: expected a value"],
    ['{\n  "a": 1,\n}', 'line 3, column 1: expected a name in "double quotes"'],
    ["{a: 1}", 'line 1, column 2: expected a name in "double quotes" or }'],
    ['{"a" 1}', "line 1, column 6: expected a colon"],
    ['{"a": tru}', "line 1, column 7: expected a value"],
    ["[1 2]", "line 1, column 4: expected a comma, or the closing bracket"],
    ["[1}", "line 1, column 3: expected a comma, or the closing bracket"],
    ["[1,]", "line 1, column 4: expected a value"],
    ["[", "line 1, column 2: expected a value or ]"],
    ["1 2", "line 1, column 3: expected the end of the text"],
    ['"a', "line 1, column 1: expected a value"]
  ])("finds the place of the error in %j", (text, message) => {
    assert.strictEqual(findJsonError(text), message)
  })

  it("accepts deep nesting", () => {
    assert.isUndefined(findJsonError(`${"[".repeat(100_000)}${"]".repeat(100_000)}`))
  })

  it.prop(
    "accepts exactly what JSON.parse accepts",
    [
      Schema.Json,
      Schema.Natural,
      Schema.Literals(["", "{", "}", "[", "]", ",", ":", '"', "\\", "0", "-", ".", "e", "\n"])
    ],
    ([value, at, junk]) => {
      const text = JSON.stringify(value, null, 1)
      const place = at % (text.length + 1)
      const inserted = `${text.slice(0, place)}${junk}${text.slice(place)}`
      const replaced = `${text.slice(0, place)}${junk}${text.slice(place + 1)}`
      for (const given of [text, inserted, replaced, text.slice(0, place)]) {
        assert.strictEqual(findJsonError(given) === undefined, isJson(given), given)
      }
    },
    { arbitrary: { runs: 500 } }
  )
})
