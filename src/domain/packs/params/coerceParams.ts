import { checkJsonBody, isJsonObject, type JsonObject, maxJsonDepth, parseJson } from "../../json.ts"
import { itemSchema, literalValues, propertySchemas, collectSubschemas, declaredTypes } from "./jsonSchema.ts"

/** What a schema makes of texts. */
interface TargetType {
  readonly types: ReadonlySet<unknown>
  readonly literals: ReadonlyArray<unknown>
  readonly subschemas: ReadonlyArray<JsonObject>
  /** Any text will do, not only certain ones. */
  readonly acceptsText: boolean
  readonly acceptsNull: boolean
}

const targetTypeOf = (root: JsonObject, schema: unknown): TargetType => {
  const subschemas = collectSubschemas(root, schema, "all")
  const types = new Set(subschemas.flatMap(declaredTypes))
  const literals = subschemas.flatMap(literalValues)
  const acceptsText = subschemas.some(
    (part) => declaredTypes(part).includes("string") && literalValues(part).length === 0
  )
  return {
    types,
    literals,
    subschemas,
    acceptsText,
    acceptsNull: types.has("null") || literals.includes(null)
  }
}

/** Words for yes and no, as pydantic takes them, in any capitals. */
const trueWords: ReadonlySet<string> = new Set(["true", "1", "on", "yes", "t", "y"])
const falseWords: ReadonlySet<string> = new Set(["false", "0", "off", "no", "f", "n"])

const parseInteger = (text: string): number | undefined => {
  if (!/^[+-]?\d+(\.0*)?$/.test(text.trim())) return undefined
  const value = Number(text)
  // Beyond this another number would come out, and nobody would notice.
  return Number.isSafeInteger(value) ? value : undefined
}

const parseNumber = (text: string): number | undefined => {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text.trim())) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

const parseBoolean = (text: string): boolean | undefined => {
  const word = text.toLowerCase()
  return trueWords.has(word) ? true : falseWords.has(word) ? false : undefined
}

/** Parses JSON that a request body could hold as well. */
const parseBodyJson = (text: string): unknown => {
  const parsed = parseJson(text)
  return checkJsonBody(parsed) === undefined ? parsed : undefined
}

const parseLiteral = (literals: ReadonlyArray<unknown>, text: string): unknown =>
  literals.find((one) => (typeof one === "number" || typeof one === "boolean") && String(one) === text)

/** A text as the schema wants it; as it is where it cannot be that. */
const coerceText = (
  root: JsonObject,
  { literals, subschemas, acceptsNull, acceptsText, types }: TargetType,
  text: string
) => {
  if (literals.includes(text)) return text
  if (text === "" && acceptsNull) return null
  const literal = parseLiteral(literals, text)
  if (literal !== undefined) return literal
  if (acceptsText) return text
  const json = types.has("object") || types.has("array") ? parseBodyJson(text) : undefined
  if (types.has("object") && isJsonObject(json)) return json
  if (types.has("array") && Array.isArray(json)) return json
  const value =
    (types.has("integer") ? parseInteger(text) : undefined) ??
    (types.has("number") ? parseNumber(text) : undefined) ??
    (types.has("boolean") ? parseBoolean(text) : undefined)
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
  return Array.isArray(value) && target.types.has("array")
    ? coerceItems(root, target.subschemas, value)
    : value
}

/** The default that a schema states, if it does. */
const defaultOf = (root: JsonObject, schema: unknown): { readonly value: unknown } | undefined => {
  const part = collectSubschemas(root, schema, "none").find((one) => Object.hasOwn(one, "default"))
  return part === undefined ? undefined : { value: part["default"] }
}

/**
 * The parameters that the fields of a form are, by the JSON Schema of an object: every field is a text, or a list of
 * texts where it came more than once. Texts become what the schema wants, arrays and objects from JSON if need be; a
 * field left empty is null where that is allowed, and is not there where a default stands in. What cannot be what
 * is wanted stays as it is, so that it is found when the parameters are checked. Defaults are not filled in.
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

/** Defaults belong to the schema: whoever changes what a call was given must not change those. */
const cloneJson = (value: unknown, depth: number): unknown => {
  if (depth > maxJsonDepth) return null
  if (Array.isArray(value)) return value.map((item) => cloneJson(item, depth + 1))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, cloneJson(member, depth + 1)])
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
    return declared === undefined ? [] : [[name, cloneJson(declared.value, 0)] as const]
  })
  return Object.fromEntries([
    ...given.map(([name, member]) => [name, fillValue(root, members.get(name), member, depth + 1)] as const),
    ...added
  ])
}

/**
 * Adds the defaults that a JSON Schema states for what was not given, at any depth; where several alternatives could be
 * meant, none is chosen. The parameters themselves are left alone.
 */
export const fillDefaults = (schema: JsonObject, params: JsonObject): JsonObject => {
  const filled = fillValue(schema, schema, params, 0)
  return isJsonObject(filled) ? filled : params
}
