import { Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { SchemaValidator } from "../ports/SchemaValidator.ts"

/** Gives the violations of a schema. */
export type ParamsCheck = (schema: JsonObject, params: unknown) => Effect.Effect<ReadonlyArray<string>>

/** Checks parameters with the host's validator. With an invalid schema, parameters pass unchecked. */
export const makeParamsCheck = Effect.map(
  SchemaValidator,
  ({ check }): ParamsCheck =>
    (schema, params) =>
      Effect.orElseSucceed(check(schema, params), () => [])
)
