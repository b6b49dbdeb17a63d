import type { ErrorObject } from "ajv"
import { Result } from "effect"
import { InvalidSchema } from "../../application/ports/SchemaValidator.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import type { JsonObject } from "../../domain/json.ts"
import { type AjvCompiler, makeSchemaCache, validationErrors } from "./ajvCompiler.ts"
import { makeWorkerSchema, WorkerUnavailable } from "./schemaWorker.ts"
import { makeIsCheap } from "./validationCost.ts"

export const toInvalidSchema = (error: unknown): InvalidSchema => new InvalidSchema({ message: errorMessage(error) })

/** Validates a value. Throws for a schema with endless recursion and after a timeout. */
export type Check = (value: unknown) => ReadonlyArray<ErrorObject>

/** A check, or why the schema is invalid. */
export type CompiledSchema = Check | InvalidSchema

const compileSchema = (schema: JsonObject, text: string, compileWithAjv: AjvCompiler): CompiledSchema => {
  const workerSchema = makeWorkerSchema(text)
  try {
    const isCheap = makeIsCheap(schema, text)
    if (isCheap !== undefined) {
      const validate = compileWithAjv(schema)
      return (value) => (isCheap(value) ? validationErrors(validate, value) : workerSchema.check(value))
    }
    workerSchema.compile()
  } catch (error) {
    // The worker may be available later.
    if (!(error instanceof WorkerUnavailable)) return toInvalidSchema(error)
  }
  return workerSchema.check
}

/** Makes a function that compiles equal schemas once. Expensive work runs in a worker with a timeout. */
export const makeCompiler = (): ((schema: JsonObject) => CompiledSchema) => {
  const byText = makeSchemaCache<CompiledSchema>()
  /** Keeps each schema compiled while it is in use. */
  const byObject = new WeakMap<JsonObject, CompiledSchema>()

  const compile = (schema: JsonObject): CompiledSchema => {
    const json = Result.try({ try: () => JSON.stringify(schema), catch: toInvalidSchema })
    if (Result.isFailure(json)) return json.failure
    const text = json.success
    return byText.get(text) ?? byText.add(text, text.length, (compiler) => compileSchema(schema, text, compiler))
  }
  return (schema) => {
    const compiled = byObject.get(schema) ?? compile(schema)
    byObject.set(schema, compiled)
    return compiled
  }
}
