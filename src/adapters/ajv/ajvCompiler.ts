import { Ajv, type ErrorObject, type Options, type ValidateFunction } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import formats from "ajv-formats"
import type { JsonObject } from "../../domain/json.ts"

/** Third parties write the schemas, so unknown keywords are ignored. */
const options: Options = { allErrors: true, strict: false, validateFormats: true, logger: false }

/** Ajv handles drafts 4 to 7 alike. Other schemas are read as draft 2020-12. */
const isOldDraft = ({ $schema }: JsonObject): boolean =>
  typeof $schema === "string" && /^https?:\/\/json-schema\.org\/draft-0[4-7]\//.test($schema)

/** Limits for one Ajv pair, which never frees a compiled schema. */
const cacheLimits = { maxSchemas: 256, maxCharacters: 4 * 1024 * 1024 }

/** Makes a function that compiles schemas of all drafts independently. */
export const makeAjvCompiler = (): ((schema: JsonObject) => ValidateFunction) => {
  const old = new Ajv(options)
  const recent = new Ajv2020(options)
  formats.default(old)
  formats.default(recent)
  /** The built-in meta schemas and references. */
  const own = new Map([old, recent].map((ajv) => [ajv, [{ ...ajv.schemas }, { ...ajv.refs }]] as const))
  /** Removes all names but the built-in ones. Compiled schemas stay usable. */
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

  return (schema) => {
    const ajv = isOldDraft(schema) ? old : recent
    // The draft is chosen above: an unknown `$schema` must not prevent compilation. A schema with `$async`
    // would return a promise, which is truthy and may reject unhandled.
    const { $async: _never, $schema: _draft, ...rules } = schema
    try {
      return ajv.compile(rules)
    } finally {
      // A registered name would conflict with the next schema of that name or replace a built-in one.
      try {
        ajv.removeSchema(rules)
      } finally {
        forgetNames(ajv)
      }
    }
  }
}

/** A value can have as many errors as parts. */
const maxErrors = 100

/** Validates a value and returns the first errors. Throws for a schema with endless recursion. */
export const validationErrors = (validate: ValidateFunction, value: unknown): ReadonlyArray<ErrorObject> => {
  if (validate(value)) return []
  const errors = (validate.errors ?? []).slice(0, maxErrors)
  validate.errors = null
  return errors
}

/** Caches what was made of schemas. At a limit the whole cache is reset, which frees unused entries. */
export const makeSchemaCache = <A>(onReset: () => void) => {
  const known = new Map<string, A>()
  let characters = 0
  return {
    get: (key: string): A | undefined => known.get(key),
    set: (key: string, made: A): void => {
      known.set(key, made)
    },
    /** Reserves room for a schema of this many characters. */
    reserve: (size: number): void => {
      characters += size
      if (known.size < cacheLimits.maxSchemas && characters <= cacheLimits.maxCharacters) return
      known.clear()
      onReset()
      characters = size
    }
  }
}
