import type { ErrorObject, ValidateFunction } from "ajv"
import { within } from "./timeLimit.ts"

/** Milliseconds that checking one value may take: nothing else is done by then. */
const longest = 500

/** What of a value does not fit. Throws when nobody can tell: where a schema refers to itself without end, or too late. */
export type Check = (value: unknown) => ReadonlyArray<ErrorObject>

/** Words of schemas that take more than a look at each part of a value. */
const laborious = /"(?:pattern|patternProperties|format|uniqueItems|\$ref|\$dynamicRef)"/

/** The largest schema, in characters of JSON, and the largest value that are never much work together. */
const small = { schema: 4096, parts: 1000, characters: 64 * 1024 }

const isSmall = (value: unknown): boolean => {
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

/**
 * A check by a compiled schema. Whoever wrote it decides what it costs, and with a regular expression that may be any
 * time: what could be much work is broken off in the end ({@link TookTooLong}), and costs some 0.1 ms more.
 */
export const makeCheck = (validate: ValidateFunction, text: string): Check => {
  const easy = text.length <= small.schema && !laborious.test(text)

  const faults = (value: unknown): ReadonlyArray<ErrorObject> => {
    if (validate(value)) return []
    const { errors } = validate
    // There may be as many as the value has parts.
    validate.errors = null
    return errors ?? []
  }

  return (value) => (easy && isSmall(value) ? faults(value) : within(longest, () => faults(value)))
}
