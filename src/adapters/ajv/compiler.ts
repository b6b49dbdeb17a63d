import { Ajv, type Options, type ValidateFunction } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import formats from "ajv-formats"
import { SchemaUnusable } from "../../application/ports/SchemaValidator.ts"
import type { JsonObject } from "../../domain/json.ts"

/** Schemas are written by others: what a validator does not know in one is no reason to refuse it. */
const options: Options = { allErrors: true, strict: false, validateFormats: true, logger: false }

/** Drafts 4 to 7 mean the same to this validator; everything else is read as the newest draft. */
const isOldDraft = ({ $schema }: JsonObject): boolean =>
  typeof $schema === "string" && /^https?:\/\/json-schema\.org\/draft-0[4-7]\//.test($schema)

/** Says why a schema cannot be used. */
export const unusable = (error: unknown): SchemaUnusable =>
  new SchemaUnusable({ message: error instanceof Error ? error.message : String(error) })

/** A function that compiles each schema once, for as long as the schema is in use. */
export const makeCompiler = (): ((schema: JsonObject) => ValidateFunction | SchemaUnusable) => {
  const old = new Ajv(options)
  const recent = new Ajv2020(options)
  formats.default(old)
  formats.default(recent)
  /** The drafts themselves, and what else a validator knows by name. */
  const own = new Map([old, recent].map((ajv) => [ajv, [{ ...ajv.schemas }, { ...ajv.refs }]] as const))
  const compiled = new WeakMap<JsonObject, ValidateFunction | SchemaUnusable>()

  /** Forgets every name but the validator's own: what is compiled stays usable without. */
  const forgetNames = (ajv: Ajv): void => {
    const [schemas = {}, refs = {}] = own.get(ajv) ?? []
    for (const [names, kept] of [
      [ajv.schemas, schemas],
      [ajv.refs, refs]
    ] as const) {
      for (const name of Object.keys(names)) if (!Object.hasOwn(kept, name)) delete names[name]
      Object.assign(names, kept)
    }
  }

  const compile = (schema: JsonObject): ValidateFunction | SchemaUnusable => {
    const ajv = isOldDraft(schema) ? old : recent
    // The draft is chosen here: a name that the validator does not know must not keep it from its work. What calls
    // itself asynchronous would be answered by a promise, which counts as yes and rejects unheard.
    const { $async: _never, $schema: _draft, ...rules } = schema
    try {
      try {
        return ajv.compile(rules)
      } finally {
        // Kept by name it would clash with the next schema of that name, or take away one of the validator's own.
        try {
          ajv.removeSchema(rules)
        } finally {
          forgetNames(ajv)
        }
      }
    } catch (error) {
      return unusable(error)
    }
  }

  return (schema) => {
    const known = compiled.get(schema) ?? compile(schema)
    compiled.set(schema, known)
    return known
  }
}
