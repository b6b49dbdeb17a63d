import type { ErrorObject } from "ajv"
import { Effect, Layer } from "effect"
import { InvalidSchema, SchemaValidator } from "../../application/ports/SchemaValidator.ts"
import { truncateQuote } from "../../domain/errorMessage.ts"
import { formatViolation } from "../../domain/packs/params/paramsProblems.ts"
import { type Check, makeCompiler, toInvalidSchema } from "./schemaCompiler.ts"
import { SchemaTimeout } from "./schemaWorker.ts"

const maxReportedErrors = 10

const formatError = (error: ErrorObject): string => {
  const { instancePath, keyword, params } = error
  const where = instancePath === "" ? "the arguments" : truncateQuote(instancePath)
  return keyword === "additionalProperties"
    ? `${where}: unknown argument "${truncateQuote(String(params["additionalProperty"]))}"`
    : `${where}: ${formatViolation(error)}`
}

/** A validator that compiles each schema once. After a timeout a schema is not used again. */
export const layer: Layer.Layer<SchemaValidator> = Layer.sync(SchemaValidator, () => {
  const compile = makeCompiler()
  const timedOut = new WeakMap<Check, InvalidSchema>()
  return SchemaValidator.of({
    check: (schema, value) =>
      Effect.suspend(() => {
        const check = compile(schema)
        if (check instanceof InvalidSchema) return Effect.fail(check)
        const failure = timedOut.get(check)
        if (failure !== undefined) return Effect.fail(failure)
        return Effect.try({
          try: () => check(value).slice(0, maxReportedErrors).map(formatError),
          catch: (error) => {
            const invalid = toInvalidSchema(error)
            if (error instanceof SchemaTimeout) timedOut.set(check, invalid)
            return invalid
          }
        })
      })
  })
})
