import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseApprovalEnd } from "../../../../src/main/cli/arguments/approvalEnd.ts"

describe("parseApprovalEnd", () => {
  it("allows one call without a scope", () => {
    assert.deepStrictEqual(parseApprovalEnd(undefined, 0), Result.succeed({ action: "allow", scope: "once" }))
  })

  it("allows the tool without an end", () => {
    assert.deepStrictEqual(parseApprovalEnd("always", 0), Result.succeed({ action: "allow", scope: "tool" }))
  })

  it.each([
    ["90s", 90_000],
    ["30m", 1_800_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000]
  ])("allows the tool for %s", (text, millis) => {
    assert.deepStrictEqual(
      parseApprovalEnd(text, 1000),
      Result.succeed({ action: "allow", scope: "tool", until: 1000 + millis })
    )
  })

  it.each(["", "0h", "2", "h", "2w", "-1h", "1.5h", "forever"])("rejects %j", (text) => {
    assert.isTrue(Result.isFailure(parseApprovalEnd(text, 0)))
  })
})
