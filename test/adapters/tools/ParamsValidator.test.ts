import * as library from "@cfworker/json-schema"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { makeInterpreter } from "../../../src/adapters/jsonSchema/interpretSchema.ts"
import { makeParamsValidator } from "../../../src/adapters/tools/ParamsValidator.ts"
import type { JsonObject } from "../../../src/domain/json.ts"

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

describe("validator of a JSON Schema", () => {
  const checkParam = (property: JsonObject, value: unknown) => {
    const params = { type: "object", properties: { a: property } }
    return Result.getOrThrow(makeParamsValidator(params, makeInterpreter(library))).check({ a: value })
  }

  for (const [property, value] of [
    [{ type: "string", format: "date-time" }, "2026-11-27T10:00:00"],
    [{ type: "string", format: "uri" }, "https://例え.jp/パス"],
    [{ type: "string", format: "email" }, "jürgen@müller.example"],
    [{ type: "string", format: "ipv6" }, "localhost"],
    [{ type: "number", multipleOf: 0.01 }, 0.07],
    [{ type: "number", multipleOf: 0.1 }, 0.3],
    [{ type: "integer", multipleOf: 3 }, 6]
  ] as const) {
    it.effect(`accepts ${JSON.stringify(value)} for ${JSON.stringify(property)}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* checkParam(property, value), { a: value })
      })
    )
  }

  it.effect("rejects a number between two multiples", () =>
    Effect.gen(function* () {
      const problems = yield* Effect.flip(checkParam({ multipleOf: 0.01 }, 0.075))
      assert.deepStrictEqual(problems, [{ loc: ["body", "a"], msg: "must be multiple of 0.01", type: "multiple_of" }])
    })
  )
})
