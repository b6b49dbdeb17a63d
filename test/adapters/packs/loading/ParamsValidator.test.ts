import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { makeParamsValidator } from "../../../../src/adapters/packs/loading/ParamsValidator.ts"

describe("validator of an Effect Schema", () => {
  it.effect("stops at the first error of large arguments", () =>
    Effect.gen(function* () {
      let checked = 0
      const Never = Schema.String.check(
        Schema.makeFilter(() => {
          checked++
          return false
        })
      )
      const params = Schema.Struct({ words: Schema.Array(Never) })
      const { check } = Result.getOrThrow(makeParamsValidator(params, () => () => []))
      const words = (length: number) => ({ words: Array.from({ length }, () => "a") })
      assert.lengthOf(yield* Effect.flip(check(words(3))), 3)
      checked = 0
      assert.lengthOf(yield* Effect.flip(check(words(100_000))), 1)
      assert.strictEqual(checked, 1)
    })
  )
})
