import { Ajv, type ErrorObject, type Options, type ValidateFunction } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import formats from "ajv-formats"
import type { JsonObject } from "../../domain/json.ts"

/** Schemas are written by others: what a validator does not know in one is no reason to refuse it. */
const options: Options = { allErrors: true, strict: false, validateFormats: true, logger: false }

/** Drafts 4 to 7 mean the same to this validator; everything else is read as the newest draft. */
const isOldDraft = ({ $schema }: JsonObject): boolean =>
  typeof $schema === "string" && /^https?:\/\/json-schema\.org\/draft-0[4-7]\//.test($schema)

/** What one pair of validators compiles: they remember all of it for as long as they live themselves. */
const cacheLimits = { maxSchemas: 256, maxCharacters: 4 * 1024 * 1024 }

/** Compiles schemas of all drafts, each by itself. */
export const makeAjvCompiler = (): ((schema: JsonObject) => ValidateFunction) => {
  const old = new Ajv(options)
  const recent = new Ajv2020(options)
  formats.default(old)
  formats.default(recent)
  /** The drafts themselves, and what else a validator knows by name. */
  const own = new Map([old, recent].map((ajv) => [ajv, [{ ...ajv.schemas }, { ...ajv.refs }]] as const))
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

  return (schema) => {
    const ajv = isOldDraft(schema) ? old : recent
    // The draft is chosen here: a name that the validator does not know must not keep it from its work. What calls
    // itself asynchronous would be answered by a promise, which counts as yes and rejects unheard.
    const { $async: _never, $schema: _draft, ...rules } = schema
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
  }
}

/** So many faults are enough for everybody; a value may have as many as it has parts. */
const maxErrors = 100

/** What of a value does not fit a compiled schema, or the first of it. Throws where a schema refers to itself without end. */
export const validationErrors = (validate: ValidateFunction, value: unknown): ReadonlyArray<ErrorObject> => {
  if (validate(value)) return []
  const errors = (validate.errors ?? []).slice(0, maxErrors)
  validate.errors = null
  return errors
}

/** What was made of schemas. Of too many, or too large ones, it begins anew, so that what is not used can go. */
export const makeSchemaCache = <A>(onReset: () => void) => {
  const known = new Map<string, A>()
  let characters = 0
  return {
    get: (key: string): A | undefined => known.get(key),
    set: (key: string, made: A): void => {
      known.set(key, made)
    },
    /** Makes room for what will be made of so many characters. */
    reserve: (size: number): void => {
      characters += size
      if (known.size < cacheLimits.maxSchemas && characters <= cacheLimits.maxCharacters) return
      known.clear()
      onReset()
      characters = size
    }
  }
}
