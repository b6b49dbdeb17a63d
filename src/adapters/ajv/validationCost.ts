import { isJsonObject, type JsonObject } from "../../domain/json.ts"

/** Steps that are not much work: some milliseconds, and never more than some tens of them. */
const maxSteps = 1_000_000

/** The largest schema that is not much work to compile, in characters of JSON. */
const maxSchemaCharacters = 16 * 1024

/** Parts of a value after which it is large. */
const maxParts = 1000

/** The formats that validators know take no more than the square of the text's length. */
const formatExponent = 2

/**
 * The power of its text's length that the steps of a regular expression grow with at most. Every place that leaves a
 * choice adds one, and so does the place to begin at; choices that are made again and again have no bound.
 */
const patternExponentOf = (pattern: string): number => {
  const fixed = pattern.replaceAll(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, "(").replaceAll(/(?<!\))\{\d+\}/g, "")
  if (/\)[*+?{]/.test(fixed)) return Number.POSITIVE_INFINITY
  const choices = fixed.match(/[*+?{|]|\\[1-9k]/g)?.length ?? 0
  return fixed.startsWith("^") && !fixed.includes("|") ? choices : choices + 1
}

/** What of a schema is more than a look at each part of a value. */
interface SchemaCost {
  references: number
  uniqueItems: number
  patterns: number
  exponent: number
}

const schemaCostOf = (schema: JsonObject): SchemaCost => {
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
    if (typeof node["format"] === "string") addPattern(formatExponent)
    if (typeof node["pattern"] === "string") addPattern(patternExponentOf(node["pattern"]))
    if (isJsonObject(node["patternProperties"])) {
      for (const pattern of Object.keys(node["patternProperties"])) addPattern(patternExponentOf(pattern))
    }
  }
  return cost
}

interface ValueSize {
  readonly parts: number
  readonly characters: number
  readonly depth: number
}

/** The size of a value, unless it has many parts. */
const sizeOf = (value: unknown): ValueSize | undefined => {
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

/**
 * Says of which values it is certain that checking them takes only a few milliseconds, whoever wrote the schema; nothing
 * when not even compiling it does. `text` is the schema as JSON.
 */
export const makeIsCheap = (schema: JsonObject, text: string): ((value: unknown) => boolean) | undefined => {
  if (text.length > maxSchemaCharacters) return undefined
  const { exponent, patterns, references, uniqueItems } = schemaCostOf(schema)
  return (value) => {
    const size = sizeOf(value)
    if (size === undefined) return false
    const { characters, depth, parts } = size
    // Every level may be come to by every way through the references: most ways lead through groups of three of them.
    const referencePaths = references > 1 ? 3 ** ((references * depth) / 3) : 1
    const matching = patterns === 0 ? 0 : patterns * (characters + parts) ** exponent
    return referencePaths * (text.length * parts + matching + uniqueItems * parts ** 2) <= maxSteps
  }
}
