import type { ErrorObject } from "ajv"
import { InvalidSchema } from "../../application/ports/SchemaValidator.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import type { JsonObject } from "../../domain/json.ts"
import { makeWorkerSchema, WorkerUnavailable } from "./schemaWorker.ts"
import { makeIsCheap } from "./validationCost.ts"
import { validationErrors, makeAjvCompiler, makeSchemaCache } from "./ajvCompiler.ts"

/** Says why a schema cannot be used. */
export const toInvalidSchema = (error: unknown): InvalidSchema =>
  new InvalidSchema({ message: errorMessage(error) })

/** What of a value does not fit. Throws when nobody can tell: where a schema refers to itself without end, or too late. */
export type Check = (value: unknown) => ReadonlyArray<ErrorObject>

/** A schema ready to check values, or why it is none. */
export type CompiledSchema = Check | InvalidSchema

/** Compiles schemas that say the same only once. Whoever wrote one decides what it costs: what may be much is broken off. */
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
      // What cannot be looked at now may be later on, when it is needed.
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

/** A function that compiles each schema once, for as long as the schema is in use. */
export const makeCompiler = (): ((schema: JsonObject) => CompiledSchema) => {
  const compile = makeSharedCompiler()
  const compiled = new WeakMap<JsonObject, CompiledSchema>()
  return (schema) => {
    const known = compiled.get(schema) ?? compile(schema)
    compiled.set(schema, known)
    return known
  }
}
