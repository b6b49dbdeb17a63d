import { assert, describe, it } from "@effect/vitest"
import { argumentProblems, violationsByPath } from "../../../src/domain/schemas/violations.ts"

const failed = (text: string) => [...argumentProblems({ content: [{ type: "text", text }], isError: true })]

describe("violations of a schema", () => {
  it("finds the paths of their fields", () => {
    const found = violationsByPath(["/a: is bad", "/a: is worse", "/b/c~1d/0/e: is bad", "the arguments: x"])
    assert.deepStrictEqual(
      [...found],
      [
        ["a", "is bad; is worse"],
        ["b.c/d[0].e", "is bad"],
        ["", "the arguments: x"]
      ]
    )
  })

  it("finds the path of a missing member", () => {
    const missing = (name: string) => `must have required property '${name}'`
    const found = violationsByPath([`the arguments: ${missing("a")}`, `/b: ${missing("it's")}`])
    assert.deepStrictEqual(
      [...found],
      [
        ["a", "Required"],
        ["b.it's", "Required"]
      ]
    )
  })

  it("finds them in the result of a call that was not made", () => {
    const text = "Tool 'echo' was not called: its arguments do not fit its schema.\n- /a: is bad\n- /b: x"
    assert.deepStrictEqual(failed(text), [
      ["a", "is bad"],
      ["b", "x"]
    ])
  })

  it("finds none in another result", () => {
    assert.isEmpty(failed("no such file\n- /a: is bad"))
    assert.isEmpty([...argumentProblems({ content: "x" })])
  })
})
