import type { ErrorObject } from "ajv"
import { InvalidSchema } from "../../application/ports/SchemaValidator.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import type { JsonObject } from "../../domain/json.ts"
import { makeWorkerSchema, WorkerUnavailable } from "./schemaWorker.ts"
import { makeIsCheap } from "./validationCost.ts"
import { validationErrors, makeAjvCompiler, makeSchemaCache } from "./ajvCompiler.ts"

export const toInvalidSchema = (error: unknown): InvalidSchema => new InvalidSchema({ message: errorMessage(error) })

/** Validates a value. Throws for a schema with endless recursion and after a timeout. */
export type Check = (value: unknown) => ReadonlyArray<ErrorObject>

/** A check, or why the schema is invalid. */
export type CompiledSchema = Check | InvalidSchema

/** Compiles equal schemas once. Expensive work runs in a worker with a timeout. */
const makeSharedCompiler = () => {
  let compileWithAjv = makeAjvCompiler()
  const known = makeSchemaCache<CompiledSchema>(() => {
    compileWithAjv = makeAjvCompiler()
  })

  const compile = (schema: JsonObject, text: string): CompiledSchema => {
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

  return (schema: JsonObject): CompiledSchema => {
    let text: string
    try {
      text = JSON.stringify(schema)
    } catch (error) {
      return toInvalidSchema(error)
    }
    const found = known.get(text)
    if (found !== undefined) return found
    known.reserve(text.length)
    const made = compile(schema, text)
    known.set(text, made)
    return made
  }
}

/** Makes a function that compiles each schema once, while the schema is in use. */
export const makeCompiler = (): ((schema: JsonObject) => CompiledSchema) => {
  const compile = makeSharedCompiler()
  const compiled = new WeakMap<JsonObject, CompiledSchema>()
  return (schema) => {
    const known = compiled.get(schema) ?? compile(schema)
    compiled.set(schema, known)
    return known
  }
}
