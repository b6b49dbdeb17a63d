import type { OutputUnit, Schema } from "@cfworker/json-schema"
import { formatSome, truncateQuote } from "../../domain/errorMessage.ts"
import { asObject, isJsonObject, type JsonObject } from "../../domain/json.ts"
import { asArray, decodePointerSegment } from "../../domain/schemas/jsonSchema.ts"
import type { SchemaViolation } from "../../domain/schemas/SchemaViolation.ts"

/** The subschemas of a schema by their URIs. */
export type SchemaLookup = Record<string, Schema | boolean>

/** An error of the library: its keyword with the argument and the schema around it, and the names in its text. */
interface Failure {
  readonly keyword: string
  readonly argument: unknown
  readonly schema: JsonObject
  readonly names: ReadonlyArray<string>
}

type Describe = (failure: Failure) => string | undefined

const limit =
  (words: string, unit = ""): Describe =>
  ({ argument }) =>
    `must ${words} ${String(argument)}${unit}`

const contains: Describe = ({ schema: { maxContains, minContains = 1 } }) =>
  `must contain at least ${String(minContains)}${maxContains === undefined ? "" : ` and no more than ${Number(maxContains)}`} valid item(s)`

const dependents: Describe = ({ keyword, names: [property = ""], schema }) => {
  const dependent = asObject(schema[keyword])[property]
  if (!Array.isArray(dependent)) return undefined
  const needed = `${dependent.length === 1 ? "property" : "properties"} ${dependent.join(", ")}`
  return `must have ${needed} when property ${property} is present`
}

/** Names a member that is not allowed; undefined where a schema applies, whose violations follow. */
const excess: Describe = ({ argument, names: [name = ""] }) =>
  argument === false ? `unknown argument "${truncateQuote(name)}"` : undefined

/** Descriptions, of which the forms of the office page read some; undefined for errors that only frame others. */
const descriptions: { readonly [keyword: string]: Describe } = {
  additionalProperties: excess,
  anyOf: () => "must match a schema in anyOf",
  const: ({ argument }) => `must be equal to constant: ${JSON.stringify(argument)}`,
  contains,
  dependencies: dependents,
  dependentRequired: dependents,
  enum: ({ argument }) =>
    `must be equal to one of the allowed values: [${formatSome(
      asArray(argument).map((value) => JSON.stringify(value)),
      ","
    )}]`,
  exclusiveMaximum: limit("be <"),
  exclusiveMinimum: limit("be >"),
  false: () => "boolean schema is false",
  if: ({ names: [failing] }) => `must match "${failing}" schema`,
  maxContains: contains,
  maximum: limit("be <="),
  maxItems: limit("NOT have more than", " items"),
  maxLength: limit("NOT have more than", " characters"),
  maxProperties: limit("NOT have more than", " properties"),
  minContains: contains,
  minimum: limit("be >="),
  minItems: limit("NOT have fewer than", " items"),
  minLength: limit("NOT have fewer than", " characters"),
  minProperties: limit("NOT have fewer than", " properties"),
  multipleOf: limit("be multiple of"),
  not: () => "must NOT be valid",
  oneOf: () => "must match exactly one schema in oneOf",
  pattern: ({ argument }) => `must match pattern "${String(argument)}"`,
  propertyNames: () => "property name must be valid",
  required: ({ names: [missing] }) => `must have required property '${missing}'`,
  type: limit("be"),
  unevaluatedProperties: excess,
  uniqueItems: ({ names: [j, i] }) => `must NOT have duplicate items (items ## ${j} and ${i} are identical)`
}

/** Keywords whose errors name the member last that is missing, or not allowed. */
const memberKeywords = /^(?:required|dependentRequired|dependencies|(?:additional|unevaluated)Properties)$/

/** In characters. */
const maxMessageLength = 700

/** The value of a keyword, and a pattern as its author wrote it. */
const argumentOf = (keyword: string, { [keyword]: argument }: JsonObject): unknown =>
  keyword === "pattern" ? String(argument).replace(/^\^\(\?!\[\^\]\{\d+\}\)\[\^\]\*\?\(\?:(.*)\)$/s, "$1") : argument

/** The names or indexes in the text of an error: the library gives them nowhere else. */
const namesIn = (error: string): ReadonlyArray<string> => {
  const indexes = /^Duplicate items at indexes (\d+) and (\d+)/.exec(error)
  return (indexes ?? /^[^"]*"(.*?)"(?: but does not have "(.*)")?[^"]*$/s.exec(error) ?? []).slice(1)
}

/** The schema of a keyword, on the way that its evaluation has taken. */
const schemaAt = (root: Schema, lookup: SchemaLookup, keywordLocation: string): JsonObject => {
  let node: unknown = root
  for (const segment of keywordLocation.split("/").slice(1, -1)) {
    const target = segment === "$ref" && isJsonObject(node) ? node["__absolute_ref__"] : undefined
    const name = decodePointerSegment(segment)
    node = typeof target === "string" ? lookup[target] : Reflect.get(Object(node), name)
  }
  return asObject(node)
}

/** Translates the errors of the library, which come with those of the keywords around them. */
export const toViolations = (
  errors: ReadonlyArray<OutputUnit>,
  root: Schema,
  lookup: SchemaLookup
): ReadonlyArray<SchemaViolation> =>
  errors.flatMap(({ error, instanceLocation, keyword, keywordLocation }, index) => {
    const schema = schemaAt(root, lookup, keywordLocation)
    // The error before this one has named the member that is not allowed.
    const isNamed =
      keyword === "false" && /^(?:additional|unevaluated)Properties$/.test(errors[index - 1]?.keyword ?? "")
    const argument = argumentOf(keyword, schema)
    const names = namesIn(error)
    const message = isNamed ? undefined : descriptions[keyword]?.({ keyword, argument, schema, names })
    if (message === undefined) return []
    return [
      {
        instancePath: decodeURIComponent(instanceLocation.slice(1)),
        keyword,
        argument,
        member: memberKeywords.test(keyword) ? (names[1] ?? names[0]) : undefined,
        message: truncateQuote(message, maxMessageLength)
      }
    ]
  })
