import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { makeCallStatuses } from "../../../src/application/agent/callStatuses.ts"

describe("the timeout of a call that waits for an approval", () => {
  it.effect("ends two seconds after the wait: its Computer tells first that no approver answered", () =>
    Effect.gen(function* () {
      const { listen, receive } = makeCallStatuses()
      const approval = { id: "a1", server: "alpha", tool: "write", waitSeconds: 30 }
      const status = { _tag: "WaitingForConsent", computer: "desk", approval } as const
      const extended = yield* listen({ reqId: "r1", computer: "desk", onStatus: undefined }, (extend) =>
        Effect.map(receive({ reqId: "r1", status }), extend)
      )
      assert.strictEqual(Duration.toSeconds(extended), 32)
    })
  )
})
