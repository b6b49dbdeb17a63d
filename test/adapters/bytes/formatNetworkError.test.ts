import { assert, it } from "@effect/vitest"
import { formatNetworkError } from "../../../src/adapters/bytes/networkErrors.ts"

const withCode = (code: string, message: string) => Object.assign(new Error(message), { code })

it("explains a known code of a network error", () => {
  assert.strictEqual(formatNetworkError(withCode("ECONNREFUSED", "connect ECONNREFUSED")), "connection refused")
})

it("gives the message of an unknown error", () => {
  assert.strictEqual(formatNetworkError(withCode("EUNKNOWN", "odd thing")), "odd thing")
  assert.strictEqual(formatNetworkError(new Error("no code")), "no code")
})

it("gives the code of an error without a message", () => {
  assert.strictEqual(formatNetworkError(withCode("EUNKNOWN", "")), "EUNKNOWN")
})

it("gives the text of a value that is no error", () => {
  assert.strictEqual(formatNetworkError("text"), "text")
})
