import type { ErrorObject } from "ajv"
import { SchemaUnusable } from "../../application/ports/SchemaValidator.ts"
import type { JsonObject } from "../../domain/json.ts"
import { inThread, NotNow } from "./asking.ts"
import { easyValues } from "./effort.ts"
import { faultsBy, makePair, makeStore } from "./validators.ts"

/** Says why a schema cannot be used. */
export const unusable = (error: unknown): SchemaUnusable =>
  new SchemaUnusable({ message: error instanceof Error ? error.message : String(error) })

/** What of a value does not fit. Throws when nobody can tell: where a schema refers to itself without end, or too late. */
export type Check = (value: unknown) => ReadonlyArray<ErrorObject>

/** A schema ready to check values, or why it is none. */
export type Compiled = Check | SchemaUnusable

/** Compiles schemas that say the same only once. Whoever wrote one decides what it costs: what may be much is broken off. */
const makeShared = () => {
  let pair = makePair()
  const known = makeStore<Compiled>(() => {
    pair = makePair()
  })

  const compile = (schema: JsonObject, text: string): Compiled => {
    const apart = inThread(text)
    try {
      const isEasy = easyValues(schema, text)
      if (isEasy !== undefined) {
        const validate = pair(schema)
        return (value) => (isEasy(value) ? faultsBy(validate, value) : apart.check(value))
      }
      apart.compile()
    } catch (error) {
      // What cannot be looked at now may be later on, when it is needed.
      if (!(error instanceof NotNow)) return unusable(error)
    }
    return apart.check
  }

  return (schema: JsonObject): Compiled => {
    let text: string
    try {
      text = JSON.stringify(schema)
    } catch (error) {
      return unusable(error)
    }
    const found = known.find(text)
    if (found !== undefined) return found
    known.makeRoom(text.length)
    const made = compile(schema, text)
    known.keep(text, made)
    return made
  }
}

/** A function that compiles each schema once, for as long as the schema is in use. */
export const makeCompiler = (): ((schema: JsonObject) => Compiled) => {
  const compile = makeShared()
  const compiled = new WeakMap<JsonObject, Compiled>()
  return (schema) => {
    const known = compiled.get(schema) ?? compile(schema)
    compiled.set(schema, known)
    return known
  }
}
