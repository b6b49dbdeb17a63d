import { Result } from "effect"
import { bodyFault, isJsonObject, type JsonObject, maxDepth } from "../json.ts"
import { itemOf, literalsOf, membersOf, partsOf, typesOf } from "./schemas.ts"

/** What a schema makes of texts. */
interface Wanted {
  readonly types: ReadonlySet<unknown>
  readonly literals: ReadonlyArray<unknown>
  readonly parts: ReadonlyArray<JsonObject>
  /** Any text will do, not only certain ones. */
  readonly takesText: boolean
  readonly takesNull: boolean
}

const wantedOf = (root: JsonObject, schema: unknown): Wanted => {
  const parts = partsOf(root, schema, "all")
  const types = new Set(parts.flatMap(typesOf))
  const literals = parts.flatMap(literalsOf)
  const takesText = parts.some((part) => typesOf(part).includes("string") && literalsOf(part).length === 0)
  return { types, literals, parts, takesText, takesNull: types.has("null") || literals.includes(null) }
}

/** Words for yes and no, as pydantic takes them, in any capitals. */
const yes: ReadonlySet<string> = new Set(["true", "1", "on", "yes", "t", "y"])
const no: ReadonlySet<string> = new Set(["false", "0", "off", "no", "f", "n"])

const readInteger = (text: string): number | undefined => {
  if (!/^[+-]?\d+(\.0*)?$/.test(text.trim())) return undefined
  const value = Number(text)
  // Beyond this another number would come out, and nobody would notice.
  return Number.isSafeInteger(value) ? value : undefined
}

const readNumber = (text: string): number | undefined => {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text.trim())) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

const readBoolean = (text: string): boolean | undefined => {
  const word = text.toLowerCase()
  return yes.has(word) ? true : no.has(word) ? false : undefined
}

/** JSON that could have come as a body, too. */
const readJson = (text: string): unknown => {
  const parsed = Result.try((): unknown => JSON.parse(text))
  return Result.isSuccess(parsed) && bodyFault(parsed.success) === undefined ? parsed.success : undefined
}

const readLiteral = (literals: ReadonlyArray<unknown>, text: string): unknown =>
  literals.find((one) => (typeof one === "number" || typeof one === "boolean") && String(one) === text)

/** A text as the schema wants it; as it is where it cannot be that. */
const coerceText = (
  root: JsonObject,
  { literals, parts, takesNull, takesText, types }: Wanted,
  text: string
) => {
  if (literals.includes(text)) return text
  if (text === "" && takesNull) return null
  const literal = readLiteral(literals, text)
  if (literal !== undefined) return literal
  if (takesText) return text
  const json = types.has("object") || types.has("array") ? readJson(text) : undefined
  if (types.has("object") && isJsonObject(json)) return json
  if (types.has("array") && Array.isArray(json)) return json
  const value =
    (types.has("integer") ? readInteger(text) : undefined) ??
    (types.has("number") ? readNumber(text) : undefined) ??
    (types.has("boolean") ? readBoolean(text) : undefined)
  if (value !== undefined) return value
  if (takesNull && text.toLowerCase() === "null") return null
  if (!types.has("array")) return text
  return text === "" ? [] : coerceItems(root, parts, [text])
}

const coerceItems = (root: JsonObject, parts: ReadonlyArray<JsonObject>, texts: ReadonlyArray<unknown>) =>
  texts.map((text, index): unknown =>
    typeof text === "string" ? coerceText(root, wantedOf(root, itemOf(parts, index)), text) : text
  )

const coerce = (root: JsonObject, wanted: Wanted, value: unknown): unknown => {
  if (typeof value === "string") return coerceText(root, wanted, value)
  return Array.isArray(value) && wanted.types.has("array") ? coerceItems(root, wanted.parts, value) : value
}

/** The default that a schema states, if it does. */
const defaultOf = (root: JsonObject, schema: unknown): { readonly value: unknown } | undefined => {
  const part = partsOf(root, schema, "none").find((one) => Object.hasOwn(one, "default"))
  return part === undefined ? undefined : { value: part["default"] }
}

/**
 * The parameters that the fields of a form are, by the JSON Schema of an object: every field is a text, or a list of
 * texts where it came more than once. Texts become what the schema wants, arrays and objects from JSON if need be; a
 * field left empty is null where that is allowed, and is not there where a default stands in. What cannot be what
 * is wanted stays as it is, so that it is found when the parameters are checked. Defaults are not filled in.
 */
export const readForm = (schema: JsonObject, fields: JsonObject): JsonObject => {
  const parts = partsOf(schema, schema, "all")
  const members = membersOf(parts)
  const others = parts.map((part) => part["additionalProperties"]).find(isJsonObject)
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]): ReadonlyArray<readonly [string, unknown]> => {
      const member = members.has(name) ? members.get(name) : others
      const wanted = wantedOf(schema, member)
      const means = !wanted.literals.includes("") && (wanted.takesNull || !wanted.takesText)
      const isLeftOut = value === "" && means && defaultOf(schema, member) !== undefined
      return isLeftOut ? [] : [[name, coerce(schema, wanted, value)]]
    })
  )
}

/** Defaults belong to the schema: whoever changes what a call was given must not change those. */
const copy = (value: unknown, depth: number): unknown => {
  if (depth > maxDepth) return null
  if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copy(member, depth + 1)]))
}

const fill = (root: JsonObject, schema: unknown, value: unknown, depth: number): unknown => {
  if (typeof value !== "object" || value === null || depth > maxDepth) return value
  const parts = partsOf(root, schema, "sole")
  if (Array.isArray(value))
    return value.map((item, index) => fill(root, itemOf(parts, index), item, depth + 1))
  if (!isJsonObject(value)) return value
  const members = membersOf(parts)
  const given = Object.entries(value).filter(([, member]) => member !== undefined)
  const names = new Set(given.map(([name]) => name))
  const added = [...members].flatMap(([name, member]) => {
    const stated = names.has(name) ? undefined : defaultOf(root, member)
    return stated === undefined ? [] : [[name, copy(stated.value, 0)] as const]
  })
  return Object.fromEntries([
    ...given.map(([name, member]) => [name, fill(root, members.get(name), member, depth + 1)] as const),
    ...added
  ])
}

/**
 * Adds the defaults that a JSON Schema states for what was not given, at any depth; where several alternatives could be
 * meant, none is chosen. The parameters themselves are left alone.
 */
export const fillDefaults = (schema: JsonObject, params: JsonObject): JsonObject => {
  const filled = fill(schema, schema, params, 0)
  return isJsonObject(filled) ? filled : params
}
