import { Ajv, type Options, type ValidateFunction } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import formats from "ajv-formats"
import { SchemaUnusable } from "../../application/ports/SchemaValidator.ts"
import type { JsonObject } from "../../domain/json.ts"
import { type Check, makeCheck } from "./check.ts"
import { TookTooLong, within } from "./timeLimit.ts"

/** Schemas are written by others: what a validator does not know in one is no reason to refuse it. */
const options: Options = { allErrors: true, strict: false, validateFormats: true, logger: false }

/** Drafts 4 to 7 mean the same to this validator; everything else is read as the newest draft. */
const isOldDraft = ({ $schema }: JsonObject): boolean =>
  typeof $schema === "string" && /^https?:\/\/json-schema\.org\/draft-0[4-7]\//.test($schema)

/** Milliseconds that compiling a schema may take, the first one with the drafts themselves: nothing else is done by then. */
const longest = 2000

/** Says why a schema cannot be used. */
export const unusable = (error: unknown): SchemaUnusable =>
  new SchemaUnusable({ message: error instanceof Error ? error.message : String(error) })

/** A schema ready to check values, or why it is none. */
export type Compiled = Check | SchemaUnusable

/** What one pair of validators compiles: they remember all of it for as long as they live themselves. */
const most = { schemas: 256, characters: 4 * 1024 * 1024 }

const makePair = (): ((schema: JsonObject) => ValidateFunction) => {
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

/** Compiles schemas that say the same only once; after so many it begins anew, so that what is not used can go. */
const makeShared = () => {
  let pair = makePair()
  let characters = 0
  const known = new Map<string, Compiled>()

  const compile = (schema: JsonObject, text: string): Compiled => {
    try {
      return makeCheck(
        within(longest, () => pair(schema)),
        text
      )
    } catch (error) {
      // What was broken off is in no state to go on with.
      if (error instanceof TookTooLong) pair = makePair()
      return unusable(error)
    }
  }

  return (schema: JsonObject): Compiled => {
    let text: string
    try {
      text = JSON.stringify(schema)
    } catch (error) {
      return unusable(error)
    }
    const found = known.get(text)
    if (found !== undefined) return found
    characters += text.length
    if (known.size >= most.schemas || characters > most.characters) {
      known.clear()
      pair = makePair()
      characters = text.length
    }
    const made = compile(schema, text)
    known.set(text, made)
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
