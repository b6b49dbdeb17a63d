import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { reconnectBackoff, backoffDelay } from "../../../src/application/shared/backoff.ts"
import { restartBackoff } from "../../../src/domain/time/backoff.ts"

const many = Array.from({ length: 40 }, (_, index) => index + 1)

const millisOf = (each: ReadonlyArray<Duration.Duration>) => each.map(Duration.toMillis)

describe("a backoff", () => {
  for (const backoff of [reconnectBackoff, restartBackoff]) {
    const max = Duration.toMillis(backoff.max)
    it.effect(`doubles from half a second to ${max / 1000} s with a jitter of one fifth`, () =>
      Effect.gen(function* () {
        const found = millisOf(yield* Effect.forEach(many, (attempt) => backoffDelay(backoff, attempt)))
        for (const [index, wait] of found.entries()) {
          const expected = Math.min(500 * 2 ** index, max)
          assert.isAtLeast(wait, Math.floor(expected * 0.8))
          assert.isAtMost(wait, Math.ceil(expected * 1.2))
        }
        assert.isAbove(new Set(found.slice(10)).size, 20)
      })
    )
  }
})
