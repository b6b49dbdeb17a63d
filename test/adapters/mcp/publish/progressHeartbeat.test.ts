import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { withHeartbeat } from "../../../../src/adapters/mcp/publish/progressHeartbeat.ts"

describe("the progress of a published call", () => {
  it.effect("increases with each report, also where the tool repeats a step or goes back", () =>
    Effect.gen(function* () {
      const sent: Array<number> = []
      const send = ({ progress }: { readonly progress: number }) => Effect.sync(() => void sent.push(progress))
      yield* withHeartbeat(send, (report) =>
        Effect.forEach([1, 1, 0, 2], (progress) => report({ progress }), { discard: true })
      )
      assert.lengthOf(sent, 4)
      assert.deepStrictEqual(
        sent,
        [...new Set(sent)].toSorted((one, other) => one - other)
      )
    })
  )
})
