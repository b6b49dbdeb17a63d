import { asObject, isJsonObject, type JsonObject } from "../json.ts"

const keywords = (...lines: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(lines.flatMap((line) => line.split(" ")))

/** The keywords of JSON Schema whose value is one schema. */
export const singleSchemaKeywords = keywords(
  "additionalItems additionalProperties contains contentSchema else if items",
  "not propertyNames then unevaluatedItems unevaluatedProperties"
)

/** Those whose value is a list of schemas. */
export const schemaListKeywords = keywords("allOf anyOf oneOf prefixItems")

/** Those whose value is a map of schemas. */
export const schemaMapKeywords = keywords("$defs definitions dependentSchemas patternProperties properties")

const maxSubschemas = 64

export const unescapePointerSegment = (segment: string): string => segment.replaceAll("~1", "/").replaceAll("~0", "~")

/** Decodes percent-encoded bytes. Bytes that are not UTF-8 belong to a name with literal percent signs. */
const decodePercentCodes = (codes: string): string => {
  try {
    return decodeURIComponent(codes)
  } catch {
    return codes
  }
}

/** Decodes one segment of a JSON Pointer in a URI fragment, which is percent-encoded as well. */
export const decodePointerSegment = (segment: string): string =>
  unescapePointerSegment(segment.replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, decodePercentCodes))

/** The member of an object, or the item of a list, by its name or index; undefined without one. */
export const jsonMemberAt = (node: unknown, key: string | number): unknown =>
  typeof node === "object" && node !== null && Object.hasOwn(node, key) && !(Array.isArray(node) && key === "length")
    ? Reflect.get(node, key)
    : undefined

/** Resolves a reference such as `#/$defs/Level` within a document; undefined when it leads elsewhere or nowhere. */
export const resolveRef = (root: unknown, reference: string): unknown =>
  reference === "#" || reference.startsWith("#/")
    ? reference.split("/").slice(1).map(decodePointerSegment).reduce(jsonMemberAt, root)
    : undefined

export const asArray = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The types that a schema declares or implies. */
export const declaredTypes = ({ items, prefixItems, properties, type }: JsonObject): ReadonlyArray<unknown> => {
  if (type !== undefined) return Array.isArray(type) ? type : [type]
  if (properties !== undefined) return ["object"]
  return items !== undefined || prefixItems !== undefined ? ["array"] : []
}

export const literalValues = (schema: JsonObject): ReadonlyArray<unknown> => [
  ...asArray(schema["enum"]),
  ...(Object.hasOwn(schema, "const") ? [schema["const"]] : [])
]

export const isNullSchema = (schema: unknown): boolean =>
  isJsonObject(schema) && (schema["type"] === "null" || schema["const"] === null)

/** Branches of `anyOf` and `oneOf`: all, the single one beside null, or none. */
export type BranchSelection = "all" | "single" | "none"

const selectBranches = (schema: JsonObject, branches: BranchSelection): ReadonlyArray<unknown> => {
  const given = [...asArray(schema["anyOf"]), ...asArray(schema["oneOf"])]
  if (branches === "all") return given
  const real = given.filter((branch) => !isNullSchema(branch))
  return branches === "single" && real.length === 1 ? real : []
}

/** Collects a schema and its parts: `$ref`, `allOf`, and selected branches, nearest first. Cycles end. */
export const collectSubschemas = (
  root: JsonObject,
  schema: unknown,
  branches: BranchSelection
): ReadonlyArray<JsonObject> => {
  const parts = new Set<JsonObject>()
  const pending = [schema]
  for (let index = 0; index < pending.length && parts.size < maxSubschemas; index++) {
    const part = pending[index]
    if (!isJsonObject(part) || parts.has(part)) continue
    parts.add(part)
    const reference = part["$ref"]
    if (typeof reference === "string") pending.push(resolveRef(root, reference))
    pending.push(...[...asArray(part["allOf"]), ...selectBranches(part, branches)].slice(0, maxSubschemas))
  }
  return [...parts]
}

/** Property schemas by name; several schemas of one name become alternatives. */
export const propertySchemas = (parts: ReadonlyArray<JsonObject>): ReadonlyMap<string, unknown> => {
  const members = new Map<string, unknown>()
  for (const { properties } of parts) {
    if (!isJsonObject(properties)) continue
    for (const [name, schema] of Object.entries(properties)) {
      members.set(name, members.has(name) ? { anyOf: [members.get(name), schema] } : schema)
    }
  }
  return members
}

/** Schema of the array item at an index; undefined when it accepts anything. */
export const itemSchema = (parts: ReadonlyArray<JsonObject>, index: number): unknown => {
  for (const { items, prefixItems } of parts) {
    const schema = asArray(prefixItems)[index] ?? items
    if (isJsonObject(schema)) return schema
  }
  return undefined
}

/** A JSON document inside a string is an ordinary parameter. */
const isBinaryType = (type: unknown): boolean => typeof type === "string" && !/[/+]json$/.test(type)

const isFileSchema = (schema: JsonObject): boolean => {
  const { contentEncoding, contentMediaType, contentSchema, format } = schema
  if (!declaredTypes(schema).includes("string")) return false
  if (format === "binary" || contentEncoding === "binary") return true
  return isBinaryType(contentMediaType) && contentEncoding === undefined && contentSchema === undefined
}

/** True for a field whose value must not be shown or logged: JSON Schema marks it as a password or as write-only. */
export const isSecretField = (field: unknown): boolean => {
  const { format, writeOnly } = asObject(field)
  return format === "password" || writeOnly === true
}

/** File parameters by name; `multiple` accepts several files. */
export type FileParams = { readonly [name: string]: { readonly multiple: boolean } }

/**
 * Finds file parameters: strings with `format: "binary"` or a `contentMediaType`, as pydantic, zod and OpenAPI declare
 * them, and arrays of such strings.
 */
export const fileParamsOf = (schema: JsonObject): FileParams => {
  const subschemasOf = (given: unknown) => collectSubschemas(schema, given, "all")
  return Object.fromEntries(
    [...propertySchemas(subschemasOf(schema))].flatMap(([name, member]) => {
      const parts = subschemasOf(member)
      const multiple = subschemasOf(itemSchema(parts, 0)).some(isFileSchema)
      return multiple || parts.some(isFileSchema) ? [[name, { multiple }]] : []
    })
  )
}
