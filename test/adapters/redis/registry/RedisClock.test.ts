import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { RedisClock } from "../../../../src/adapters/redis/registry/RedisClock.ts"

const takes = (millis: number, said: number) => Effect.as(TestClock.adjust(millis), said)

describe("the time of Redis", () => {
  it.effect("goes on from what Redis has said last", () =>
    Effect.gen(function* () {
      const clock = new RedisClock()
      yield* clock.syncFrom(takes(0, 5000), (said) => said)
      yield* TestClock.adjust(300)
      assert.strictEqual(yield* clock.now, 5300)
      yield* clock.syncFrom(takes(0, 9000), (said) => said)
      assert.strictEqual(yield* clock.now, 9000)
    })
  )

  it.effect("is never taken for earlier than it is, however long an answer takes", () =>
    Effect.gen(function* () {
      const clock = new RedisClock()
      // Said at the beginning of that time or at its end: nobody knows.
      yield* clock.syncFrom(takes(40, 5000), (said) => said)
      assert.strictEqual(yield* clock.now, 5040)
    })
  )
})
