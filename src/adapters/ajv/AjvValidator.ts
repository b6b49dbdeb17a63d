import type { ErrorObject } from "ajv"
import { Effect, Layer } from "effect"
import { InvalidSchema, SchemaValidator } from "../../application/ports/SchemaValidator.ts"
import { type Check, makeCompiler, toInvalidSchema } from "./schemaCompiler.ts"
import { SchemaTimeout } from "./schemaWorker.ts"

const maxReportedErrors = 10

/** In characters; an error quotes the start of a longer name of an argument. */
const maxQuotedLength = 256

const truncate = (text: string): string => (text.length > maxQuotedLength ? `${text.slice(0, maxQuotedLength)}…` : text)

const formatError = ({ instancePath, keyword, message = "is invalid", params }: ErrorObject): string => {
  const where = instancePath === "" ? "the arguments" : truncate(instancePath)
  switch (keyword) {
    case "additionalProperties":
      return `${where}: unknown argument "${truncate(String(params["additionalProperty"]))}"`
    case "enum":
      return `${where}: ${message}: ${JSON.stringify(params["allowedValues"])}`
    default:
      return `${where}: ${message}`
  }
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
