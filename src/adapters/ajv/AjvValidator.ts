import { Layer } from "effect"
import {
  InvalidSchema,
  type SchemaCheck,
  SchemaValidator,
  toInvalidSchema,
  validatorFromCompiler
} from "../../application/ports/SchemaValidator.ts"
import { makeCompiler } from "./schemaCompiler.ts"
import { SchemaTimeout } from "./schemaWorker.ts"

/** A validator that compiles each schema once. After a timeout a schema is not used again. */
export const layer: Layer.Layer<SchemaValidator> = Layer.sync(SchemaValidator, () => {
  const compile = makeCompiler()
  const timedOut = new WeakMap<SchemaCheck, InvalidSchema>()
  return validatorFromCompiler((schema) => {
    const check = compile(schema)
    if (check instanceof InvalidSchema) return check
    const checkOnce: SchemaCheck = (value) => {
      try {
        return check(value)
      } catch (error) {
        if (error instanceof SchemaTimeout) timedOut.set(check, toInvalidSchema(error))
        throw error
      }
    }
    return timedOut.get(check) ?? checkOnce
  })
})
