import { assert, describe, it } from "@effect/vitest"
import { replaceEscapedNames } from "../../src/domain/escapedNames.ts"

/** A text with its escaped names replaced, and the value that is restored from it. */
const replaced = (text: string) => {
  const found = replaceEscapedNames(text)
  if (found === undefined) return undefined
  const value: unknown = JSON.parse(found.text)
  found.restore(value)
  return { text: found.text, value }
}

describe("name with an escape", () => {
  it.each([
    String.raw`{"\u00e9":1}`,
    String.raw`{"a\"b":1}`,
    String.raw`{"a\"b\\":1,"c":2}`,
    String.raw`{"\\\\":1}`,
    String.raw`{"\\\"\\":1}`,
    String.raw`{ "a\tb" : 1 }`,
    String.raw`[{"a":{"\n":[{"\r":null}]}}]`
  ])("is replaced in %s", (text) => {
    const found = replaced(text)
    assert.notInclude(found?.text, "\\")
    assert.deepStrictEqual(found?.value, JSON.parse(text))
  })

  it("has a mark that is not in the text", () => {
    const text = String.raw`{"\u00e9":"${"\udfff".repeat(3)}","${"\udfff".repeat(2)}0":1}`
    assert.deepStrictEqual(replaced(text)?.value, JSON.parse(text))
  })

  it("is restored in its place, in an ordinary member", () => {
    const value = replaced(String.raw`{"b":1,"\u0061":2,"c":3}`)?.value as Record<string, unknown>
    assert.deepStrictEqual(Object.keys(value), ["b", "a", "c"])
    value["a"] = 4
    Reflect.deleteProperty(value, "b")
    assert.deepStrictEqual(value, { a: 4, c: 3 })
  })

  it("does not change its parent's array", () => {
    const text = String.raw`[[1,2],{"\u0061":[null]}]`
    assert.deepStrictEqual(replaced(text)?.value, [[1, 2], { a: [null] }])
  })
})

describe("text without a name with an escape", () => {
  it.each([
    "{}",
    '{"a":"b"}',
    String.raw`{"a":"\u00e9"}`,
    String.raw`["\"",":"]`,
    String.raw`"\\"`,
    String.raw`{"a":"\"","b":1}`,
    '"\\'
  ])("stays as it is: %s", (text) => {
    assert.isUndefined(replaceEscapedNames(text))
  })
})
