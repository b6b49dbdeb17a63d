import { Effect, Layer } from "effect"
import {
  type CompileSchema,
  InvalidSchema,
  SchemaValidator,
  validatorFromCompiler
} from "../../application/ports/SchemaValidator.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { makeInterpreter } from "./interpretSchema.ts"

/**
 * Loads a compiler that interprets schemas, without generated code. The library cannot be loaded in a worker from a
 * `blob:` URL of an origin with a port: each schema is invalid there, with the reason.
 */
export const loadInterpreter: Effect.Effect<CompileSchema> = Effect.tryPromise({
  try: () => import("@cfworker/json-schema"),
  catch: (error) => new InvalidSchema({ message: `JSON Schemas cannot be checked here: ${errorMessage(error)}` })
}).pipe(
  Effect.match({
    onSuccess: makeInterpreter,
    onFailure:
      (failure): CompileSchema =>
      () =>
        failure
  })
)

/** A validator that interprets schemas. What would block its thread for long fails with the reason. */
export const layer: Layer.Layer<SchemaValidator> = Layer.effect(
  SchemaValidator,
  Effect.map(loadInterpreter, validatorFromCompiler)
)
