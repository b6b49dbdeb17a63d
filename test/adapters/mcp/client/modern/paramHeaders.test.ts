import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { findParamHeaders, paramHeadersOf } from "../../../../../src/adapters/mcp/client/modern/paramHeaders.ts"

const header = (name: unknown, type: unknown = "string") => ({ type, "x-mcp-header": name })
const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more })

const headersOf = (schema: object, params: object) =>
  paramHeadersOf(Result.getOrThrow(findParamHeaders(schema)), params)

describe("findParamHeaders", () => {
  it.each([
    ["no name", object({ a: header("") })],
    ["a name that is not a text", object({ a: header(1) })],
    ["a name with a space", object({ a: header("a b") })],
    ["a name with a colon", object({ a: header("a:b") })],
    ["a name with a tab", object({ a: header("a\tb") })],
    ["a name that is not ASCII", object({ a: header("ä") })],
    ["an object", object({ a: header("A", "object") })],
    ["a number", object({ a: header("A", "number") })],
    ["no type", object({ a: { "x-mcp-header": "A" } })],
    ["the arguments themselves", object({}, { "x-mcp-header": "A" })],
    ["items", object({ a: { type: "array", items: header("A") } })],
    ["a branch", object({ a: { anyOf: [header("A"), { type: "null" }] } })],
    ["a definition", object({ a: { $ref: "#/$defs/a" } }, { $defs: { a: header("A") } })],
    ["a property of a branch", { anyOf: [object({ a: header("A") })] }],
    ["two parameters in any case", object({ a: header("Aa"), b: header("aA") })]
  ])("fails for %s", (_, schema) => assert.isTrue(Result.isFailure(findParamHeaders(schema))))

  it.each([
    ["a schema without any", object({ a: { type: "string" } })],
    ["no schema", undefined],
    ["a parameter of that name", object({ "x-mcp-header": { type: "string" } })],
    ["a value that looks like one", object({ a: { type: "object", default: header("A"), enum: [header("")] } })]
  ])("finds none in %s", (_, schema) => assert.deepStrictEqual(Result.getOrThrow(findParamHeaders(schema)), []))
})

describe("paramHeadersOf", () => {
  it("mirrors texts, integers and booleans at any depth", () => {
    const schema = object({
      a: header("A"),
      b: header("B", "integer"),
      c: object({ properties: object({ d: header("D", "boolean") }) })
    })
    const params = { a: "us west", b: 42, c: { properties: { d: false } }, e: "no" }
    assert.deepStrictEqual(headersOf(schema, params), {
      "Mcp-Param-A": "us west",
      "Mcp-Param-B": "42",
      "Mcp-Param-D": "false"
    })
  })

  it.each([[null], [undefined], [{}], [["a"]], [2 ** 60], [0.5]])("omits %j", (a) =>
    assert.deepStrictEqual(headersOf(object({ a: header("A") }), { a }), {})
  )

  it("omits a member that only the prototype has", () =>
    assert.deepStrictEqual(headersOf(object({ constructor: object({ name: header("A") }) }), {}), {}))

  it.each(["", " a", "a ", "a\nb", "a\r\nb", "\ta", "a\tb", "Hello, 世界", "=?base64?YQ==?="])(
    "encodes %j, which a header would not carry unchanged",
    (a) =>
      assert.deepStrictEqual(headersOf(object({ a: header("A") }), { a }), {
        "Mcp-Param-A": `=?base64?${Buffer.from(a).toString("base64")}?=`
      })
  )
})
