import { assert, describe, it } from "@effect/vitest"
import { formatOutcome } from "../../../src/domain/policy/Rule.ts"

describe("formatOutcome", () => {
  it.each([
    ["allow", true, "the call runs"],
    ["allow", false, "the call runs"],
    ["ask", true, "the call needs an approval"],
    ["ask", false, "the call needs an approval, for which this Computer cannot ask: 4005"],
    ["deny", true, "the call fails with 4005"],
    ["deny", false, "the call fails with 4005"]
  ] as const)("explains %s, with a Computer that can ask: %s", (action, canAsk, text) => {
    assert.strictEqual(formatOutcome(action, canAsk), text)
  })
})
