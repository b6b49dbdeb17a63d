import { Effect, Option } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { SchemaValidator } from "../ports/SchemaValidator.ts"

/** Checks parameters with the host's validator. Without one, or with an invalid schema, parameters pass unchecked. */
export const makeParamsCheck = Effect.map(
  Effect.serviceOption(SchemaValidator),
  (validator) =>
    (schema: JsonObject, params: unknown): Effect.Effect<ReadonlyArray<string>> =>
      Option.match(validator, {
        onNone: () => Effect.succeed([]),
        onSome: ({ check }) => Effect.orElseSucceed(check(schema, params), () => [])
      })
)
