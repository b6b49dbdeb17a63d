import type { dereference, Schema, validate } from "@cfworker/json-schema"
import { type CompileSchema, type SchemaCheck, toInvalidSchema } from "../../application/ports/SchemaValidator.ts"
import { Result } from "effect"
import { truncateQuote } from "../../domain/errorMessage.ts"
import { hasAtMostParts, isJsonObject, type JsonObject, parseJsonOrThrow } from "../../domain/json.ts"
import { computeOnce } from "../../domain/objects.ts"
import { resolveRef } from "../../domain/schemas/jsonSchema.ts"
import { longestTextOf } from "../../domain/schemas/longestTextOf.ts"
import { formatArgumentViolation, type SchemaViolation } from "../../domain/schemas/SchemaViolation.ts"
import { metaSchema } from "./metaSchema.ts"
import { toViolations } from "./violations.ts"

const limits = {
  /** Of JSON. */
  schemaCharacters: 256 * 1024,
  /** Evaluations of schemas for one value, each as long as the text of the schema and never shorter than `leastSteps`. */
  steps: 100_000_000,
  leastSteps: 1000,
  /** Steps of one pattern on one text. */
  patternSteps: 10_000_000,
  /** Items of an array in a value whose items may be compared with each other. */
  uniqueItems: 1000,
  /** Parts of a value beyond which one violation of each object and array is enough. */
  parts: 1000
}

/**
 * Makes a pattern match no text on which it may take many steps: nothing interrupts a regular expression. Under `not`, such
 * a text is valid. Throws for an invalid pattern.
 */
const boundPattern = (pattern: string): string => {
  const longest = longestTextOf(pattern, limits.patternSteps)
  if (new RegExp(pattern, "u") instanceof RegExp && longest > 1)
    return longest < limits.patternSteps ? `^(?![^]{${longest + 1}})[^]*?(?:${pattern})` : pattern
  throw new Error(`pattern "${truncateQuote(pattern)}" can take exponential time: it repeats a group with repetitions`)
}

/** Throws for a text that was too long for a pattern: whether it matches is unknown. */
const requireTried = ({ argument, instancePath, keyword }: SchemaViolation, value: unknown): void => {
  if (keyword !== "pattern") return
  const text = resolveRef(value, `#${encodeURI(instancePath)}`)
  const pattern = String(argument)
  if (typeof text !== "string" || text.length <= longestTextOf(pattern, limits.patternSteps)) return
  throw new Error(`a text of ${text.length} characters is too long for the pattern "${truncateQuote(pattern)}"`)
}

const hasLongArray = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.length > limits.uniqueItems || value.some(hasLongArray)
  return isJsonObject(value) && Object.values(value).some(hasLongArray)
}

/** Checks what the library would find only while it validates, and bounds its work. */
const prepare = (schema: Schema, isResolvable: (uri: string) => boolean, spend: (steps: number) => void): void => {
  const { $dynamicRef, $ref, __absolute_ref__ = "", format, pattern, patternProperties } = schema
  if ($dynamicRef !== undefined) throw new Error("$dynamicRef is not supported")
  if ($ref !== undefined && !isResolvable(__absolute_ref__)) throw new Error(`can't resolve reference ${$ref}`)
  if (typeof pattern === "string") schema.pattern = boundPattern(pattern)
  if (isJsonObject(patternProperties)) {
    const bounded = Object.entries(patternProperties).map(([name, member]) => [boundPattern(name), member] as const)
    schema.patternProperties = Object.fromEntries(bounded)
  }
  // The library reads `format` once in each evaluation of a schema. It is an annotation, so nothing is read.
  const steps = Math.max(limits.leastSteps, JSON.stringify(schema).length)
  if (typeof format !== "object")
    Object.defineProperty(schema, "format", { get: () => spend(steps), enumerable: false })
}

/** The library, which runs code when it is loaded. */
type Library = { readonly dereference: typeof dereference; readonly validate: typeof validate }

const makeCheck = ({ dereference, validate }: Library, declared: JsonObject): SchemaCheck => {
  const text = JSON.stringify(declared)
  if (text.length > limits.schemaCharacters)
    throw new Error(`schema of more than ${limits.schemaCharacters} characters`)
  // A copy, since the library writes into schemas.
  const root = parseJsonOrThrow(text) as Schema
  const metaLookup = dereference(metaSchema)
  const { errors } = validate(root, metaSchema, "2020-12", metaLookup, false)
  const problem = toViolations(errors, metaSchema, metaLookup).find(({ keyword }) => keyword !== "anyOf")
  if (problem !== undefined) throw new Error(`schema is invalid: ${formatArgumentViolation(problem)}`)
  const lookup = dereference(root)
  let steps = 0
  const spend = (taken: number): void => {
    steps += taken
    if (steps > limits.steps) throw new Error("the schema is too expensive for this value")
  }
  const schemas = [...new Set(Object.values(lookup))].filter((schema) => typeof schema === "object")
  for (const schema of schemas) prepare(schema, (uri) => Object.hasOwn(lookup, uri), spend)
  const comparesItems = schemas.some(({ uniqueItems }) => uniqueItems === true)
  return (value) => {
    steps = 0
    if (comparesItems && hasLongArray(value))
      throw new Error(`more than ${limits.uniqueItems} items cannot be compared`)
    const isSmall = hasAtMostParts(value, limits.parts)
    const { errors, valid } = validate(value, root, "2020-12", lookup, !isSmall)
    const violations = toViolations(errors.slice(0, limits.parts), root, lookup)
    for (const violation of violations) requireTried(violation, value)
    return valid || violations.length > 0
      ? violations
      : [{ instancePath: "", keyword: "schema", message: "must match the schema" }]
  }
}

/** Makes a compiler that neither generates code nor loads references. Usable wherever JavaScript runs. */
export const makeInterpreter = (library: Library): CompileSchema =>
  computeOnce((schema: JsonObject) =>
    Result.merge(Result.try({ try: () => makeCheck(library, schema), catch: toInvalidSchema }))
  )
