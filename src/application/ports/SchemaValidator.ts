import { Context, Data, Effect, Layer } from "effect"
import type { JsonObject } from "../../domain/json.ts"

/** A JSON Schema that cannot be compiled. */
export class InvalidSchema extends Data.TaggedError("InvalidSchema")<{ readonly message: string }> {}

/** Validates values against JSON Schemas, draft 2020-12 unless a schema names another one. */
export class SchemaValidator extends Context.Service<
  SchemaValidator,
  {
    /** The violations of a schema, each with its JSON pointer, in words that a model can act on. */
    readonly check: (schema: JsonObject, value: unknown) => Effect.Effect<ReadonlyArray<string>, InvalidSchema>
  }
>()("a2c-smcp/application/ports/SchemaValidator") {
  /** Accepts every value. */
  static readonly layerAllowAll: Layer.Layer<SchemaValidator> = Layer.succeed(SchemaValidator, {
    check: () => Effect.succeed([])
  })
}
