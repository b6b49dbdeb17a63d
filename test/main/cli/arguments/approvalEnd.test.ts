import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { parseApprovalEnd } from "../../../../src/main/cli/arguments/approvalEnd.ts"

describe("parseApprovalEnd", () => {
  it.effect("allows one call without a scope", () =>
    Effect.map(parseApprovalEnd(undefined), (answer) =>
      assert.deepStrictEqual(answer, { action: "allow", scope: "once" })
    )
  )

  it.effect("allows the tool without an end", () =>
    Effect.map(parseApprovalEnd("always"), (answer) =>
      assert.deepStrictEqual(answer, { action: "allow", scope: "tool" })
    )
  )

  it.effect.each([
    ["90s", 90_000],
    ["30m", 1_800_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000]
  ] as const)("allows the tool for %s", ([text, millis]) =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* parseApprovalEnd(text), { action: "allow", scope: "tool", until: 1000 + millis })
    })
  )

  it.effect.each(["", "0h", "2", "h", "2w", "-1h", "1.5h", "forever"])("rejects %j", (text) =>
    Effect.map(Effect.flip(parseApprovalEnd(text)), ({ message }) => assert.include(message, "is neither"))
  )
})
