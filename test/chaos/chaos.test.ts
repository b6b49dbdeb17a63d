import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { withoutRedis } from "../fixtures/redis.ts"
import { runChaos } from "./chaos.ts"
import { smallMembers } from "./members.ts"
import { problemsOf, formatTable } from "./report.ts"

/** A few seconds of faults for each change; `npm run chaos` runs longer. */
const seconds = 10
const seed = 3

it.live.skipIf(withoutRedis)(
  "loses, mixes up and repeats no call during faults, and recovers afterwards",
  () =>
    Effect.scoped(
      Effect.gen(function* () {
        const report = yield* runChaos({ members: smallMembers, seconds, seed, quick: true, note: () => undefined })
        assert.deepStrictEqual(problemsOf(report), [], formatTable(report))
        assert.isAbove(report.tally.answered, 100)
        assert.isAtLeast(Object.keys(report.faults).length, 2)
      })
    ),
  150_000
)
