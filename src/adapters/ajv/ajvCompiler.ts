import { Ajv, type ErrorObject, type FuncKeywordDefinition, type Options, str, type ValidateFunction } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import type { JsonObject } from "../../domain/json.ts"

/** The shortest decimal that denotes a number, as its author wrote it unless that had more than 17 digits: digits × 10^exponent. */
const toDecimal = (value: number) => {
  const [mantissa = "", exponent = "0"] = String(value).split("e")
  const [whole = "", fraction = ""] = mantissa.split(".")
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

/** True when a decimal number is a whole multiple of another one, without the rounding of binary fractions. */
const isMultipleOf = (value: number, divisor: number): boolean => {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  const decimals = [toDecimal(value), toDecimal(divisor)]
  const least = Math.min(...decimals.map(({ exponent }) => exponent))
  const [dividend = 0n, unit = 1n] = decimals.map(({ digits, exponent }) => digits * 10n ** BigInt(exponent - least))
  return dividend % unit === 0n
}

/** Third parties write the schemas, so unknown keywords are ignored. `format` is an annotation, as in draft 2020-12. */
const options: Options = {
  allErrors: true,
  strict: false,
  validateFormats: false,
  logger: false,
  // A parameter can be named `constructor`.
  ownProperties: true
}

/** Replaces Ajv's keyword, which divides in binary: 0.07 / 0.01 is 7.000000000000001. */
const multipleOf: FuncKeywordDefinition = {
  keyword: "multipleOf",
  type: "number",
  schemaType: "number",
  compile: (divisor: number) => (value: number) => isMultipleOf(value, divisor),
  errors: false,
  error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` }
}

/** Ajv handles drafts 4 to 7 alike. Other schemas are read as draft 2020-12. */
const isOldDraft = ({ $schema }: JsonObject): boolean =>
  typeof $schema === "string" && /^https?:\/\/json-schema\.org\/draft-0[4-7]\//.test($schema)

/** Compiles the meta schema of a draft once per process: it takes more time than most schemas. */
const metaValidators = { old: new Ajv(options), recent: new Ajv2020(options) }

/** Compiles a schema of any draft, independently of other schemas. */
export type AjvCompiler = (schema: JsonObject) => ValidateFunction

const makeAjvCompiler = (): AjvCompiler => {
  const old = new Ajv({ ...options, validateSchema: false })
  const recent = new Ajv2020({ ...options, validateSchema: false })
  for (const ajv of [old, recent]) ajv.removeKeyword("multipleOf").addKeyword(multipleOf)
  const tables: ReadonlyArray<Record<string, unknown>> = [old, recent].flatMap(({ refs, schemas }) => [refs, schemas])
  /** The tables with the built-in meta schemas and references. */
  const builtIn = tables.map((names) => [names, { ...names }] as const)
  /** Removes all names but the built-in ones. Compiled schemas stay usable. */
  const forgetNames = (): void => {
    for (const [names, kept] of builtIn) {
      for (const name of Object.keys(names)) if (!Object.hasOwn(kept, name)) delete names[name]
      Object.assign(names, kept)
    }
  }

  return (schema) => {
    const isOld = isOldDraft(schema)
    const ajv = isOld ? old : recent
    // The draft is chosen above: an unknown `$schema` must not prevent compilation. A schema with `$async`
    // would return a promise, which is truthy and may reject unhandled.
    const { $async: _never, $schema: _draft, ...rules } = schema
    void (isOld ? metaValidators.old : metaValidators.recent).validateSchema(rules, true)
    try {
      return ajv.compile(rules)
    } finally {
      // A registered name would conflict with the next schema of that name or replace a built-in one.
      try {
        ajv.removeSchema(rules)
      } finally {
        forgetNames()
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

/** Limits for one Ajv pair, which never frees a compiled schema. */
const cacheLimits = { maxSchemas: 256, maxCharacters: 4 * 1024 * 1024 }

/** Caches what was compiled. At a limit, cache and compiler are replaced, which frees unused schemas. */
export const makeSchemaCache = <A>() => {
  let compiler = makeAjvCompiler()
  const known = new Map<string, A>()
  let characters = 0
  return {
    get: (key: string): A | undefined => known.get(key),
    /** Makes and keeps an entry for a schema of `size` characters. */
    add: (key: string, size: number, make: (compiler: AjvCompiler) => A): A => {
      characters += size
      if (known.size >= cacheLimits.maxSchemas || characters > cacheLimits.maxCharacters) {
        known.clear()
        compiler = makeAjvCompiler()
        characters = size
      }
      const made = make(compiler)
      known.set(key, made)
      return made
    }
  }
}
