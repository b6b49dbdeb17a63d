import type { OutputUnit, Schema } from "@cfworker/json-schema"
import { asObject, isJsonObject, type JsonObject } from "../../domain/json.ts"
import { decodePointerSegment } from "../../domain/schemas/jsonSchema.ts"
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

type Description = readonly [params: JsonObject, message: string]

const limit =
  (words: string, unit = "") =>
  ({ argument }: Failure): Description => [{ limit: argument }, `must ${words} ${String(argument)}${unit}`]

const fixed = (message: string) => (): Description => [{}, message]

const contains = ({ schema: { maxContains, minContains = 1 } }: Failure): Description => {
  const most = maxContains === undefined ? "" : ` and no more than ${Number(maxContains)}`
  return [{ minContains, maxContains }, `must contain at least ${String(minContains)}${most} valid item(s)`]
}

const dependents = ({ keyword, names: [property = "", missingProperty], schema }: Failure): Description | undefined => {
  const dependent = isJsonObject(schema[keyword]) ? schema[keyword][property] : undefined
  if (!Array.isArray(dependent)) return undefined
  const needed = `${dependent.length === 1 ? "property" : "properties"} ${dependent.join(", ")}`
  return [{ property, missingProperty }, `must have ${needed} when property ${property} is present`]
}

/** Describes a name that is not allowed; undefined where a schema applies, whose violations follow. */
const excessMembers =
  (param: string, words: string) =>
  ({ argument, names: [name] }: Failure): Description | undefined =>
    argument === false ? [{ [param]: name }, `must NOT have ${words}`] : undefined

/** Descriptions in the words of Ajv, which the forms of the office page read; undefined for errors that only frame others. */
const descriptions: { readonly [keyword: string]: (failure: Failure) => Description | undefined } = {
  additionalProperties: excessMembers("additionalProperty", "additional properties"),
  anyOf: fixed("must match a schema in anyOf"),
  const: ({ argument }) => [{ allowedValue: argument }, "must be equal to constant"],
  contains,
  dependencies: dependents,
  dependentRequired: dependents,
  enum: ({ argument }) => [{ allowedValues: argument }, "must be equal to one of the allowed values"],
  exclusiveMaximum: limit("be <"),
  exclusiveMinimum: limit("be >"),
  false: fixed("boolean schema is false"),
  if: ({ names: [failingKeyword] }) => [{ failingKeyword }, `must match "${failingKeyword}" schema`],
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
  not: fixed("must NOT be valid"),
  oneOf: fixed("must match exactly one schema in oneOf"),
  pattern: ({ argument }) => {
    const pattern = String(argument).replace(/^\^\(\?!\[\^\]\{\d+\}\)\[\^\]\*\?\(\?:(.*)\)$/s, "$1")
    return [{ pattern }, `must match pattern "${pattern}"`]
  },
  propertyNames: ({ names: [propertyName] }) => [{ propertyName }, "property name must be valid"],
  required: ({ names: [missingProperty] }) => [{ missingProperty }, `must have required property '${missingProperty}'`],
  type: ({ argument }) => [{ type: argument }, `must be ${String(argument)}`],
  unevaluatedProperties: excessMembers("unevaluatedProperty", "unevaluated properties"),
  uniqueItems: ({ names: [j, i] }) => [
    { i: Number(i), j: Number(j) },
    `must NOT have duplicate items (items ## ${j} and ${i} are identical)`
  ]
}

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
    const description = isNamed
      ? undefined
      : descriptions[keyword]?.({ keyword, argument: schema[keyword], schema, names: namesIn(error) })
    if (description === undefined) return []
    const [params, message] = description
    return [{ instancePath: decodeURIComponent(instanceLocation.slice(1)), keyword, params, message }]
  })
