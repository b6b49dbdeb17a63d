import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { RedisClock } from "../../../../src/adapters/redis/registry/RegistryScripts.ts"

const takes = (millis: number, printed: number) => Effect.as(TestClock.adjust(millis), printed)

describe("RedisClock", () => {
  it.effect("advances from the last reply of Redis", () =>
    Effect.gen(function* () {
      const clock = new RedisClock()
      yield* clock.syncFrom(takes(0, 5000), (printed) => printed)
      yield* TestClock.adjust(300)
      assert.strictEqual(yield* clock.now, 5300)
      yield* clock.syncFrom(takes(0, 9000), (printed) => printed)
      assert.strictEqual(yield* clock.now, 9000)
    })
  )

  it.effect("is never behind Redis, even with slow replies", () =>
    Effect.gen(function* () {
      const clock = new RedisClock()
      // Redis may have read its clock at the beginning or at the end of that time.
      yield* clock.syncFrom(takes(40, 5000), (printed) => printed)
      assert.strictEqual(yield* clock.now, 5040)
    })
  )
})
