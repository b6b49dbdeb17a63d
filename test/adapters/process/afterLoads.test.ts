import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeBusyShareReader, runAfterLoads } from "../../../src/adapters/process/afterLoads.ts"

/** Runs the action with these busy shares, each for a number of seconds, and counts its runs at the end of each. */
const runsWith = Effect.fnUntraced(function* (phases: ReadonlyArray<readonly [share: number, seconds: number]>) {
  let runs = 0
  let share = 0
  yield* Effect.forkScoped(
    runAfterLoads(
      () => {
        runs += 1
      },
      () => share
    ),
    { startImmediately: true }
  )
  const counted: Array<number> = []
  for (const [next, seconds] of phases) {
    share = next
    yield* TestClock.adjust(`${seconds} seconds`)
    counted.push(runs)
  }
  return counted
})

describe("runAfterLoads", () => {
  it.effect("runs the action once, after the first quiet minute", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* runsWith([
          [0, 59],
          [0, 1],
          [0, 600]
        ]),
        [0, 1, 1]
      )
    })
  )

  it.effect("runs it again, in the first quiet minute after a load", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* runsWith([
          [0, 60],
          [0.1, 1],
          [0, 59],
          [0, 1],
          [0, 600]
        ]),
        [1, 1, 1, 2, 2]
      )
    })
  )

  it.effect("waits for a whole minute after a pause of a load", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* runsWith([
          [0, 59],
          [1, 1],
          [0, 59],
          [0, 1]
        ]),
        [0, 0, 0, 1]
      )
    })
  )

  it.effect("counts less than two percent as quiet", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* runsWith([
          [0.02, 600],
          [0.019, 60]
        ]),
        [0, 1]
      )
    })
  )

  it.effect("counts less than a tenth as no load", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* runsWith([
          [0, 60],
          [0.09, 60],
          [0, 600]
        ]),
        [1, 1, 1]
      )
    })
  )
})

describe("makeBusyShareReader", () => {
  it("reads the time in which the event loop was not idle", async () => {
    const read = makeBusyShareReader()
    await new Promise((resolve) => setTimeout(resolve, 50))
    const idle = read()
    const end = performance.now() + 50
    while (performance.now() < end);
    assert.isAbove(read(), idle)
  })
})
