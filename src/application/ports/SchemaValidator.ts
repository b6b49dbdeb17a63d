import { Context, Data, type Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"

/** A JSON Schema that cannot be used to check anything. */
export class InvalidSchema extends Data.TaggedError("InvalidSchema")<{ readonly message: string }> {}

/** Checks values against JSON Schemas, draft 2020-12 unless a schema names another one. */
export class SchemaValidator extends Context.Service<
  SchemaValidator,
  {
    /** What does not fit, each with its JSON pointer, in words a model can act on; empty when all is well. */
    readonly check: (
      schema: JsonObject,
      value: unknown
    ) => Effect.Effect<ReadonlyArray<string>, InvalidSchema>
  }
>()("a2c-smcp/application/ports/SchemaValidator") {}
