import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { type SendProgress, withHeartbeat } from "../../../../src/adapters/mcp/publish/progressHeartbeat.ts"
import type { McpProgress } from "../../../../src/application/ports/McpSession.ts"

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

  it.effect("increases also where the tool prepares its reports before it sends them", () =>
    Effect.gen(function* () {
      const sent: Array<number> = []
      const send: SendProgress = ({ progress }) => Effect.sync(() => void sent.push(progress))
      yield* withHeartbeat(send, (report) => {
        const [first, second] = [report({ progress: 1 }), report({ progress: 1 })]
        return Effect.andThen(first, second)
      })
      const [first = 0, second = 0] = sent
      assert.deepStrictEqual([first, second > first], [1, true])
    })
  )

  /** The reports of a call that runs, with their times in seconds. */
  const reporting = (call: (report: SendProgress) => Effect.Effect<void>) =>
    Effect.gen(function* () {
      const sent: Array<readonly [seconds: number, McpProgress]> = []
      const send: SendProgress = ({ progress, ...others }) =>
        Effect.map(
          Clock.currentTimeMillis,
          (now) => void sent.push([now / 1000, { progress: Math.round(progress * 1000) / 1000, ...others }])
        )
      const running = yield* Effect.forkChild(withHeartbeat(send, call), { startImmediately: true })
      return { sent, running }
    })

  it.effect("is repeated after five seconds of silence, with the time of the call", () =>
    Effect.gen(function* () {
      const { sent } = yield* reporting((report) =>
        Effect.sleep("2 seconds").pipe(
          Effect.andThen(report({ progress: 1, total: 4, message: "at it" })),
          Effect.andThen(Effect.sleep("7 seconds")),
          Effect.andThen(report({ progress: 2 })),
          Effect.andThen(Effect.never)
        )
      )
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(sent, [
        [2, { progress: 1, total: 4, message: "at it" }],
        [7, { progress: 1, total: 4, message: "at it (running for 7 s)" }],
        [9, { progress: 2 }],
        [14, { progress: 2, message: "running for 14 s" }],
        [19, { progress: 2, message: "running for 19 s" }]
      ])
    })
  )

  it.effect("is sent for a call that reports nothing, until it ends", () =>
    Effect.gen(function* () {
      const { running, sent } = yield* reporting(() => Effect.sleep("11 seconds"))
      yield* TestClock.adjust("4999 millis")
      assert.deepStrictEqual(sent, [])
      yield* TestClock.adjust("1 minute")
      assert.isDefined(running.pollUnsafe())
      assert.deepStrictEqual(sent, [
        [5, { progress: 0, message: "running for 5 s" }],
        [10, { progress: 0, message: "running for 10 s" }]
      ])
    })
  )
})
