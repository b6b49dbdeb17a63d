import {
  checkJsonBody,
  isJsonObject,
  type JsonObject,
  maxJsonDepth,
  parseJson,
  withoutUnsafeParts
} from "../../json.ts"
import {
  itemSchema,
  literalValues,
  propertySchemas,
  collectSubschemas,
  declaredTypes
} from "../../schemas/jsonSchema.ts"

type TargetType = ReturnType<typeof targetTypeOf>

const targetTypeOf = (root: JsonObject, schema: unknown) => {
  const subschemas = collectSubschemas(root, schema, "all")
  const types = new Set(subschemas.flatMap(declaredTypes))
  const literals = subschemas.flatMap(literalValues)
  /** The schema accepts any string, not only literals. */
  const acceptsText = subschemas.some(
    (part) => declaredTypes(part).includes("string") && literalValues(part).length === 0
  )
  return { types, literals, subschemas, acceptsText, acceptsNull: types.has("null") || literals.includes(null) }
}

/** Boolean words of pydantic, case-insensitive. */
const booleanWords: ReadonlyMap<string, boolean> = new Map([
  ...["true", "1", "on", "yes", "t", "y"].map((word) => [word, true] as const),
  ...["false", "0", "off", "no", "f", "n"].map((word) => [word, false] as const)
])

/** The number in a text of this form; undefined when it is not valid. A larger integer would silently lose precision. */
const parseNumber = (text: string, form: RegExp, isValid: (value: number) => boolean): number | undefined =>
  form.test(text.trim()) && isValid(Number(text)) ? Number(text) : undefined

/** Converts a text to the type of its schema; returns the text unchanged when that is impossible. */
const coerceText = (
  root: JsonObject,
  { literals, subschemas, acceptsNull, acceptsText, types }: TargetType,
  text: string
) => {
  if (literals.includes(text)) return text
  if (text === "" && acceptsNull) return null
  const literal = literals.find((one) => ["number", "boolean"].includes(typeof one) && String(one) === text)
  if (literal !== undefined) return literal
  if (acceptsText) return text
  const parsed = types.has("object") || types.has("array") ? parseJson(text) : undefined
  const json = checkJsonBody(parsed) === undefined ? parsed : undefined
  if (types.has("object") && isJsonObject(json)) return json
  if (types.has("array") && Array.isArray(json)) return json
  const value =
    (types.has("integer") ? parseNumber(text, /^[+-]?\d+(\.0*)?$/, Number.isSafeInteger) : undefined) ??
    (types.has("number") ? parseNumber(text, /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/, Number.isFinite) : undefined) ??
    (types.has("boolean") ? booleanWords.get(text.toLowerCase()) : undefined)
  if (value !== undefined) return value
  if (acceptsNull && text.toLowerCase() === "null") return null
  if (!types.has("array")) return text
  return text === "" ? [] : coerceItems(root, subschemas, [text])
}

const coerceItems = (root: JsonObject, parts: ReadonlyArray<JsonObject>, texts: ReadonlyArray<unknown>) =>
  texts.map((text, index): unknown =>
    typeof text === "string" ? coerceText(root, targetTypeOf(root, itemSchema(parts, index)), text) : text
  )

const coerce = (root: JsonObject, target: TargetType, value: unknown): unknown => {
  if (typeof value === "string") return coerceText(root, target, value)
  return Array.isArray(value) && target.types.has("array") ? coerceItems(root, target.subschemas, value) : value
}

const defaultOf = (root: JsonObject, schema: unknown): { readonly value: unknown } | undefined => {
  const part = collectSubschemas(root, schema, "none").find((one) => Object.hasOwn(one, "default"))
  return part === undefined ? undefined : { value: part["default"] }
}

/**
 * Converts form fields to parameters by the JSON Schema of an object. A field is a text, or a list of texts when it
 * occurs several times; arrays and objects can be JSON. An empty field is null where the schema allows it, and is
 * removed when the schema has a default. Texts that do not match stay unchanged, so validation reports them. Does not
 * add defaults.
 */
export const coerceForm = (schema: JsonObject, fields: JsonObject): JsonObject => {
  const parts = collectSubschemas(schema, schema, "all")
  const members = propertySchemas(parts)
  const additional = parts.map((part) => part["additionalProperties"]).find(isJsonObject)
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]): ReadonlyArray<readonly [string, unknown]> => {
      const member = members.has(name) ? members.get(name) : additional
      const target = targetTypeOf(schema, member)
      const emptyIsValue = !target.literals.includes("") && (target.acceptsNull || !target.acceptsText)
      const isLeftOut = value === "" && emptyIsValue && defaultOf(schema, member) !== undefined
      return isLeftOut ? [] : [[name, coerce(schema, target, value)]]
    })
  )
}

const fillValue = (root: JsonObject, schema: unknown, value: unknown, depth: number): unknown => {
  if (typeof value !== "object" || value === null || depth > maxJsonDepth) return value
  const parts = collectSubschemas(root, schema, "single")
  if (Array.isArray(value))
    return value.map((item, index) => fillValue(root, itemSchema(parts, index), item, depth + 1))
  if (!isJsonObject(value)) return value
  const members = propertySchemas(parts)
  const given = Object.entries(value).filter(([, member]) => member !== undefined)
  const names = new Set(given.map(([name]) => name))
  const added = [...members].flatMap(([name, member]) => {
    const declared = names.has(name) ? undefined : defaultOf(root, member)
    // A copy: changes to arguments never reach the schema.
    return declared === undefined ? [] : [[name, withoutUnsafeParts(declared.value)] as const]
  })
  return Object.fromEntries([
    ...given.map(([name, member]) => [name, fillValue(root, members.get(name), member, depth + 1)] as const),
    ...added
  ])
}

/** Adds the defaults of a schema at any depth, except where several alternatives match. Does not modify `params`. */
export const fillDefaults = (schema: JsonObject, params: JsonObject): JsonObject => {
  const filled = fillValue(schema, schema, params, 0)
  return isJsonObject(filled) ? filled : params
}
