import { assert, describe, it } from "@effect/vitest"
import { errorMessage, systemErrorCode } from "../../src/domain/errorMessage.ts"

class NamedError extends Error {
  override readonly name = "NamedError"
}

describe("errorMessage", () => {
  it.each([
    ["an error", new Error("no space"), "no space"],
    ["an error without a message, whose name it gives", new NamedError(), "NamedError"],
    ["a text", "no space", "no space"],
    ["another value", 7, "7"],
    ["a value that cannot be written", Object.create(null), "unknown error"],
    ["each different part once", new AggregateError([new Error("a"), "b", new Error("a")], "several"), "a; b"],
    ["an error without parts", new AggregateError([], "several"), "several"]
  ] as const)("gives the text of %s", (_, error, text) => {
    assert.strictEqual(errorMessage(error), text)
  })
})

describe("systemErrorCode", () => {
  it.each([
    ["an error with a code", Object.assign(new Error("x"), { code: "ENOENT" }), "ENOENT"],
    ["an error without a code", new Error("x"), undefined],
    ["an error with a number as code", Object.assign(new Error("x"), { code: 7 }), undefined],
    ["an object that is no error", { code: "ENOENT" }, undefined]
  ] as const)("reads the code of %s", (_, error, code) => {
    assert.strictEqual(systemErrorCode(error), code)
  })
})
