import { Context, Data, Effect, Layer } from "effect"
import { errorMessage } from "../../domain/errorMessage.ts"
import type { JsonObject } from "../../domain/json.ts"
import { formatArgumentViolation, type SchemaViolation } from "../../domain/schemas/SchemaViolation.ts"

/** A JSON Schema that cannot be compiled. */
export class InvalidSchema extends Data.TaggedError("InvalidSchema")<{ readonly message: string }> {}

export const toInvalidSchema = (error: unknown): InvalidSchema => new InvalidSchema({ message: errorMessage(error) })

/** Gives the violations of a schema by a value. Throws when the check ends without an answer: it is too expensive. */
export type SchemaCheck = (value: unknown) => ReadonlyArray<SchemaViolation>

/** Prepares the check of a schema. Equal schemas are prepared once. */
export type CompileSchema = (schema: JsonObject) => SchemaCheck | InvalidSchema

const maxReportedErrors = 10

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

/** Makes a validator that describes the first violations. */
export const validatorFromCompiler = (compile: CompileSchema): SchemaValidator["Service"] => ({
  check: (schema, value) =>
    Effect.suspend(() => {
      const check = compile(schema)
      if (check instanceof InvalidSchema) return Effect.fail(check)
      const describe = () => check(value).slice(0, maxReportedErrors).map(formatArgumentViolation)
      return Effect.try({ try: describe, catch: toInvalidSchema })
    })
})
