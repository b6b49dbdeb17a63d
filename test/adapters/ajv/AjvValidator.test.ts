import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import * as AjvValidator from "../../../src/adapters/ajv/AjvValidator.ts"
import { SchemaValidator } from "../../../src/application/ports/SchemaValidator.ts"
import type { JsonObject } from "../../../src/domain/json.ts"

const check = (schema: JsonObject, value: unknown) => SchemaValidator.use((validator) => validator.check(schema, value))

const place = {
  type: "object",
  properties: { city: { type: "string" }, unit: { enum: ["C", "F"] }, days: { type: "integer", maximum: 7 } },
  required: ["city"],
  additionalProperties: false
}

/** A schema whose validation cost doubles with every level. */
const twice: JsonObject = {
  $defs: {
    level: {
      anyOf: [1, 2].map((least) => ({
        minProperties: least + 1,
        properties: { a: { $ref: "#/$defs/level" } }
      }))
    }
  },
  $ref: "#/$defs/level"
}

const nested = (depth: number): JsonObject => (depth === 0 ? {} : { a: nested(depth - 1) })

describe("AjvValidator", () => {
  layer(AjvValidator.layer)((it) => {
    it.effect("times out a slow validation and never retries it", () =>
      Effect.gen(function* () {
        const endless = "a".repeat(64) + "!"
        const cases: ReadonlyArray<readonly [schema: JsonObject, value: unknown]> = [
          [{ properties: { a: { pattern: "^(a+)+$" } } }, { a: endless }],
          [{ patternProperties: { "^(a|a)+$": { type: "string" } } }, { [endless]: "" }],
          [{ items: { anyOf: [{ pattern: "(x+x+)+y" }, true] } }, ["x".repeat(64)]],
          [{ uniqueItems: true }, Array.from({ length: 100_000 }, (_, at) => ({ at }))],
          [twice, nested(40)]
        ]
        for (const [schema, value] of cases) {
          const { message } = yield* Effect.flip(check(schema, value))
          assert.include(message, "schema timeout after 500 ms")
          const again = yield* Effect.forEach([1, 2, 3, 4], () => Effect.timed(Effect.flip(check(schema, value))))
          // Each retry would take at least 500 ms; a busy machine does not delay all attempts.
          assert.isBelow(Math.min(...again.map(([duration]) => Duration.toMillis(duration))), 500)
        }
      })
    )

    it.effect("times out a slow compilation without affecting the next schema", () =>
      Effect.gen(function* () {
        const names = Array.from({ length: 300_000 }, (_, at) => [`p${at}`, { enum: [at, "a", "b"] }])
        const large = { properties: Object.fromEntries(names) }
        const { message } = yield* Effect.flip(check(large, {}))
        assert.include(message, "schema timeout after 2000 ms")
        assert.lengthOf(yield* check({ ...place, title: "after it" }, {}), 1)
      })
    )
  })
})
