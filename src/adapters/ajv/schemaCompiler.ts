import { Result } from "effect"
import {
  type CompileSchema,
  type InvalidSchema,
  type SchemaCheck,
  toInvalidSchema
} from "../../application/ports/SchemaValidator.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { computeOnce } from "../../domain/objects.ts"
import { patternExponentOf } from "../../domain/schemas/patternExponent.ts"
import { type AjvCompiler, makeSchemaCache, validationErrors } from "./ajvCompiler.ts"
import { makeWorkerSchema, WorkerUnavailable } from "./schemaWorker.ts"

/** Steps that take a few milliseconds, and at most some tens of them. */
const maxSteps = 1_000_000

/** The largest schema that compiles quickly, in characters of JSON. */
const maxSchemaCharacters = 16 * 1024

/** Parts beyond which a value counts as large. */
const maxParts = 1000

/** The schema keywords that cost more than one step per part of a value. */
const schemaCostOf = (schema: JsonObject) => {
  const cost = { references: 0, uniqueItems: 0, patterns: 0, exponent: 0 }
  const addPattern = (exponent: number) => {
    cost.patterns += 1
    cost.exponent = Math.max(cost.exponent, exponent)
  }
  const left: Array<unknown> = [schema]
  while (left.length > 0) {
    const node = left.pop()
    if (Array.isArray(node)) left.push(...node)
    if (!isJsonObject(node)) continue
    left.push(...Object.values(node))
    cost.references += Number("$ref" in node) + Number("$dynamicRef" in node)
    if ("uniqueItems" in node) cost.uniqueItems += 1
    if (typeof node["pattern"] === "string") addPattern(patternExponentOf(node["pattern"]))
    if (isJsonObject(node["patternProperties"])) {
      for (const pattern of Object.keys(node["patternProperties"])) addPattern(patternExponentOf(pattern))
    }
  }
  return cost
}

/** The size of a value; undefined for a large one. */
const sizeOf = (value: unknown) => {
  let parts = 0
  let characters = 0
  let depth = 0
  const measure = (part: unknown, level: number): void => {
    parts += 1
    if (level > depth) depth = level
    if (typeof part === "string") characters += part.length
    if (typeof part !== "object" || part === null) return
    for (const name in part) {
      if (parts > maxParts) return
      characters += name.length
      measure(part[name as keyof typeof part], level + 1)
    }
  }
  measure(value, 1)
  return parts > maxParts ? undefined : { parts, characters, depth }
}

/** Makes a predicate for values that certainly validate quickly. Undefined for a large schema. */
export const makeIsCheap = (schema: JsonObject, text: string): ((value: unknown) => boolean) | undefined => {
  if (text.length > maxSchemaCharacters) return undefined
  const { exponent, patterns, references, uniqueItems } = schemaCostOf(schema)
  return (value) => {
    const size = sizeOf(value)
    if (size === undefined) return false
    const { characters, depth, parts } = size
    // Each level can be reached over every path of references; groups of three give the most paths.
    const referencePaths = references > 1 ? 3 ** ((references * depth) / 3) : 1
    const matching = patterns === 0 ? 0 : patterns * (characters + parts) ** exponent
    return referencePaths * (text.length * parts + matching + uniqueItems * parts ** 2) <= maxSteps
  }
}

type CompiledSchema = SchemaCheck | InvalidSchema

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
export const makeCompiler = (): CompileSchema => {
  const byText = makeSchemaCache<CompiledSchema>()
  // Keeps each schema compiled while it is in use.
  return computeOnce((schema: JsonObject): CompiledSchema => {
    const json = Result.try({ try: () => JSON.stringify(schema), catch: toInvalidSchema })
    if (Result.isFailure(json)) return json.failure
    const text = json.success
    return byText.get(text) ?? byText.add(text, text.length, (compiler) => compileSchema(schema, text, compiler))
  })
}
