import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Fault } from "./faults.ts"
import { planOf } from "./plan.ts"

const fault = (kind: string, part: string): Fault => ({
  kind,
  part,
  lasting: [1, 5],
  heals: false,
  begin: Effect.void,
  end: Effect.void,
  affected: () => []
})

const kinds = ["killed", "cut", "slow"]
const faults = kinds.flatMap((kind) => [fault(kind, "one"), fault(kind, "two")])
const seconds = 300
const plan = (seed: number) =>
  Effect.map(planOf(faults, seconds, seed), (those) =>
    those.map(({ at, fault: { kind, part }, lasting }) => ({ at, kind, part, end: at + lasting }))
  )

describe("fault plan", () => {
  it.effect("depends on the seed only", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* plan(1), yield* plan(1))
      assert.notDeepEqual(yield* plan(1), yield* plan(2))
    })
  )

  it.effect("contains every kind, ends in time, and never has two faults of one part at once", () =>
    Effect.gen(function* () {
      const planned = yield* plan(3)
      assert.deepStrictEqual(new Set(planned.slice(0, kinds.length).map(({ kind }) => kind)), new Set(kinds))
      assert.isAbove(planned.length, 40)
      for (const [index, one] of planned.entries()) {
        assert.isAtMost(one.end, seconds)
        const overlapping = planned.slice(index + 1).filter(({ at, part }) => part === one.part && at < one.end)
        assert.deepStrictEqual(overlapping, [])
      }
    })
  )
})
