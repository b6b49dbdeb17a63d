import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { isSecretField } from "../../../src/domain/schemas/jsonSchema.ts"
import { type InputRequest, parseInputRequest, secretAnswers } from "../../../src/domain/model/InputRequest.ts"

const parse = (params: { readonly [name: string]: unknown }) => Result.getOrUndefined(parseInputRequest(params))

describe("parseInputRequest", () => {
  const schema = { type: "object", properties: { name: { type: "string" } } }

  it("gives a form", () => {
    assert.deepStrictEqual(parse({ message: "who?", requestedSchema: schema }), {
      mode: "form",
      message: "who?",
      schema
    })
  })

  it("gives a page with a web address", () => {
    for (const url of ["https://a.example/x", "HTTP://a.example"]) {
      assert.deepStrictEqual(parse({ mode: "url", message: "open", url }), { mode: "url", message: "open", url })
    }
  })

  it("has an empty message instead of one that is no text, and cuts a long one into a well-formed text", () => {
    assert.strictEqual(parse({ message: 7, requestedSchema: schema })?.message, "")
    const long = parse({ message: `${"x".repeat(4095)}😀`, requestedSchema: schema })?.message
    assert.strictEqual(long, `${"x".repeat(4095)}\ufffd`)
  })

  const noUrl = "url: expected an http or https URL"

  it.each([
    ["a form without a schema", { message: "a" }, "requestedSchema: expected an object"],
    ["a form with a list as schema", { requestedSchema: [] }, "requestedSchema: expected an object"],
    ["a huge schema", { requestedSchema: { a: "x".repeat(65_536) } }, "requestedSchema: exceeds 65536 characters"],
    ["a page without an address", { mode: "url" }, noUrl],
    ["a page with a script", { mode: "url", url: "javascript:https://a" }, noUrl],
    ["a page with a file", { mode: "url", url: "file:///https:" }, noUrl],
    ["a page with a malformed address", { mode: "url", url: "https://a b" }, noUrl],
    ["a page with a long address", { mode: "url", url: `https://a/${"x".repeat(8192)}` }, noUrl]
  ])("rejects %s", (_, params, reason) => assert.deepStrictEqual(parseInputRequest(params), Result.fail(reason)))

  it("takes a schema and an address of the greatest length", () => {
    const padding = 65_536 - JSON.stringify({ a: "" }).length
    assert.isDefined(parse({ requestedSchema: { a: "x".repeat(padding) } }))
    const start = "https://a/"
    assert.isDefined(parse({ mode: "url", url: `${start}${"x".repeat(8192 - start.length)}` }))
  })
})

describe("isSecretField", () => {
  it("knows passwords and fields that are only written", () => {
    assert.isTrue(isSecretField({ format: "password" }))
    assert.isTrue(isSecretField({ writeOnly: true }))
    for (const field of [{}, { format: "email" }, { writeOnly: "yes" }, undefined, 7])
      assert.isFalse(isSecretField(field))
  })
})

describe("secretAnswers", () => {
  const schema = { properties: { pin: { format: "password" }, code: { writeOnly: true }, name: {} } }
  const form: InputRequest = { mode: "form", message: "", schema }

  it("gives the values of secret fields as texts", () => {
    const content = { pin: "1234", code: 7, name: "Ada", constructor: "x" }
    assert.deepStrictEqual(secretAnswers(form, { action: "accept", content }), ["1234", "7"])
  })

  it("gives none of other answers and of pages", () => {
    const page: InputRequest = { mode: "url", message: "", url: "https://a" }
    assert.deepStrictEqual(secretAnswers(form, { action: "decline" }), [])
    assert.deepStrictEqual(secretAnswers(form, { action: "accept" }), [])
    assert.deepStrictEqual(secretAnswers(page, { action: "accept", content: { pin: "1" } }), [])
    assert.deepStrictEqual(secretAnswers({ ...form, schema: {} }, { action: "accept", content: { pin: "1" } }), [])
  })
})
