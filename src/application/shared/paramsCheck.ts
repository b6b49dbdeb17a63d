import { Effect, Option } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { SchemaValidator } from "../ports/SchemaValidator.ts"

/** Says what keeps parameters from fitting a schema, in words a model can act on; nothing when they do. */
export type ParamsCheck = (schema: JsonObject, params: JsonObject) => Effect.Effect<ReadonlyArray<string>>

/** A check by the validator that is there; nothing is found without one, and by a schema that nobody can use. */
export const makeParamsCheck: Effect.Effect<ParamsCheck> = Effect.map(
  Effect.serviceOption(SchemaValidator),
  (validator) => (schema, params) =>
    Option.match(validator, {
      onNone: () => Effect.succeed([]),
      onSome: ({ check }) => Effect.orElseSucceed(check(schema, params), () => [])
    })
)
