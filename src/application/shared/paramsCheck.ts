import { Effect, Option } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { SchemaValidator } from "../ports/SchemaValidator.ts"

/** The violations of a schema, in words that a model can act on; empty when the parameters are valid. */
export type ParamsCheck = (schema: JsonObject, params: JsonObject) => Effect.Effect<ReadonlyArray<string>>

/** Checks parameters with the host's validator. Without one, or with an invalid schema, parameters pass unchecked. */
export const makeParamsCheck: Effect.Effect<ParamsCheck> = Effect.map(
  Effect.serviceOption(SchemaValidator),
  (validator) => (schema, params) =>
    Option.match(validator, {
      onNone: () => Effect.succeed([]),
      onSome: ({ check }) => Effect.orElseSucceed(check(schema, params), () => [])
    })
)
