import { isJsonObject, type JsonObject, stringOrEmpty } from "../json.ts"
import { collectSubschemas, declaredTypes, itemSchema, literalValues, propertySchemas } from "./jsonSchema.ts"

/** Foreign schemas can be large: nested parameters and rows beyond these bounds are left out. */
const maxDepth = 4
const maxRows = 200

const partsOf = (root: JsonObject, schema: unknown) => collectSubschemas(root, schema, "all")

/** The types of a value in words: `integer`, `array of string`, `"a" | "b"`. */
const typeOf = (root: JsonObject, schema: unknown, depth = 0): string => {
  const parts = partsOf(root, schema)
  const literals = [...new Set(parts.flatMap(literalValues).map((value) => JSON.stringify(value)))]
  // A literal restricts the type that stands beside it.
  const types = parts.filter((part) => literalValues(part).length === 0).flatMap(declaredTypes)
  const words = [...new Set(types)].map((type) => {
    if (type !== "array" || depth >= maxDepth) return String(type)
    const item = typeOf(root, itemSchema(parts, 0), depth + 1)
    return item === "any" ? "array" : `array of ${item.includes(" | ") ? `(${item})` : item}`
  })
  const all = [...literals, ...(literals.length > 0 ? words.filter((word) => word === "null") : words)]
  return all.length === 0 ? "any" : all.join(" | ")
}

const firstOf = (parts: ReadonlyArray<JsonObject>, key: string): unknown =>
  parts.find((part) => part[key] !== undefined)?.[key]

const requiredOf = (parts: ReadonlyArray<JsonObject>): ReadonlySet<unknown> =>
  new Set(parts.flatMap(({ required }): ReadonlyArray<unknown> => (Array.isArray(required) ? required : [])))

type Row = readonly [name: string, type: string, required: string, byDefault: string, description: string]

const rowsOf = (root: JsonObject, schema: unknown, prefix: string, depth: number): ReadonlyArray<Row> => {
  const parts = collectSubschemas(root, schema, depth === 0 ? "all" : "single")
  const required = requiredOf(parts)
  return [...propertySchemas(parts)].slice(0, maxRows).flatMap(([key, member]): ReadonlyArray<Row> => {
    const own = partsOf(root, member)
    const byDefault = firstOf(own, "default")
    const name = `${prefix}${key}`
    const description = stringOrEmpty(firstOf(own, "description")).replace(/\s+/g, " ").trim()
    const row: Row = [
      name,
      typeOf(root, member),
      required.has(key) ? "yes" : "",
      byDefault === undefined ? "" : JSON.stringify(byDefault),
      description
    ]
    return [row, ...(depth + 1 < maxDepth ? rowsOf(root, member, `${name}.`, depth + 1) : [])]
  })
}

/** Rows of a table of the parameters of a tool; nested ones as `filter.name`. */
export const describeParameters = (schema: JsonObject) => rowsOf(schema, schema, "", 0).slice(0, maxRows)

/** A value that the schema accepts, as far as its types and literals tell. */
const exampleOf = (root: JsonObject, member: unknown): unknown => {
  const parts = partsOf(root, member)
  const stated = firstOf(parts, "default") ?? [firstOf(parts, "examples")].flat()[0] ?? parts.flatMap(literalValues)[0]
  if (stated !== undefined) return stated
  const [type] = parts.flatMap(declaredTypes)
  const values: { readonly [type: string]: unknown } = { integer: 1, number: 1, boolean: true, array: [], object: {} }
  return values[String(type)] ?? "text"
}

/** The words of an example call with the required parameters, or else with the first one. */
export const exampleArguments = (schema: JsonObject): ReadonlyArray<string> => {
  const parts = partsOf(schema, schema)
  const members = [...propertySchemas(parts)]
  const required = requiredOf(parts)
  const shown = members.some(([key]) => required.has(key))
    ? members.filter(([key]) => required.has(key))
    : members.slice(0, 1)
  return shown.slice(0, maxRows).map(([key, member]) => {
    const value = exampleOf(schema, member)
    const isText = typeof value === "string"
    return isText
      ? `${key}=${value.startsWith("@") ? "@" : ""}${value}`
      : `${key}${isJsonObject(value) || Array.isArray(value) ? ":" : ""}=${JSON.stringify(value)}`
  })
}
