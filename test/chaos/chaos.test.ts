import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { runChaos } from "./chaos.ts"
import { smallCast } from "./cast.ts"
import { problemsOf, formatTable } from "./report.ts"

/** Some seconds of trouble, for every change; `npm run chaos` has more of it. */
const seconds = 10
const seed = 3

it.live(
  "no call is lost, answered wrongly or executed twice while things go wrong, and everything works again",
  () =>
    Effect.scoped(
      Effect.gen(function* () {
        const report = yield* runChaos({ cast: smallCast, seconds, seed, quick: true, note: () => undefined })
        assert.deepStrictEqual(problemsOf(report), [], formatTable(report))
        assert.isAbove(report.tally.answered, 100)
        assert.isAtLeast(Object.keys(report.faults).length, 2)
      })
    ),
  150_000
)
