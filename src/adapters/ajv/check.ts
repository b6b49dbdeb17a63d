import type { ErrorObject } from "ajv"

/** What of a value does not fit. Throws when nobody can tell: where a schema refers to itself without end, or too late. */
export type Check = (value: unknown) => ReadonlyArray<ErrorObject>

/** Words of schemas that take more than a look at each part of a value. */
const laborious = /"(?:pattern|patternProperties|format|uniqueItems|\$ref|\$dynamicRef)"/

/** The largest schema, in characters of JSON, and the largest value that are never much work together. */
const small = { schema: 4096, parts: 1000, characters: 64 * 1024 }

/** Is a schema, as JSON, never much work for a small value, nor to compile? */
export const isEasy = (schema: string): boolean => schema.length <= small.schema && !laborious.test(schema)

/** Is a value never much work for an easy schema? */
export const isSmall = (value: unknown): boolean => {
  let { characters, parts } = small
  const fits = (part: unknown): boolean => {
    parts -= 1
    if (typeof part === "string") characters -= part.length
    if (parts < 0 || characters < 0) return false
    if (typeof part !== "object" || part === null) return true
    for (const name in part) {
      characters -= name.length
      if (!fits(part[name as keyof typeof part])) return false
    }
    return true
  }
  return fits(value)
}
