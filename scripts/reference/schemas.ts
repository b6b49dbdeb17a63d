import { Schema } from "effect"
import { isJsonObject, type JsonObject } from "../../src/domain/json.ts"
import { code, codes, table } from "./markdown.ts"

const asList = (value: unknown): ReadonlyArray<JsonObject> => (Array.isArray(value) ? value.filter(isJsonObject) : [])

/** The JSON Schema of what a schema reads, without `null`, which means absent. */
const toJsonSchema = (schema: Schema.Top): JsonObject => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(Schema.toEncoded(schema))
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (!isJsonObject(value)) return value
    const reference = typeof value["$ref"] === "string" ? value["$ref"].split("/").at(-1) : undefined
    if (reference !== undefined) return resolve(definitions[reference])
    const { anyOf, ...rest } = value
    const alternatives = asList(anyOf).filter(({ type }) => type !== "null")
    const resolved = Object.fromEntries(Object.entries(rest).map(([key, child]) => [key, resolve(child)]))
    if (alternatives.length === 0) return resolved
    const all = alternatives.map(resolve)
    return all.length === 1 && isJsonObject(all[0]) ? { ...resolved, ...all[0] } : { ...resolved, anyOf: all }
  }
  const resolved = resolve(root)
  return isJsonObject(resolved) ? resolved : {}
}

const rangeOf = ({ allOf, maxLength, maximum, minLength, minimum }: JsonObject): string => {
  const inner = asList(allOf)
    .map(rangeOf)
    .filter((text) => text !== "")
  if (inner.length > 0) return inner.join("")
  const upper = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum
  if (minimum !== undefined && upper !== undefined) return `, ${JSON.stringify(minimum)} to ${JSON.stringify(upper)}`
  if (minimum !== undefined) return `, from ${JSON.stringify(minimum)}`
  if (maxLength !== undefined) return `, at most ${JSON.stringify(maxLength)} characters`
  return minLength === undefined ? "" : ", not empty"
}

const plural: { readonly [type: string]: string } = {
  boolean: "booleans",
  integer: "integers",
  number: "numbers",
  object: "objects",
  string: "texts"
}

const typeOf = (schema: JsonObject): string => {
  const { anyOf, enum: values, items, type } = schema
  if (Array.isArray(values)) return codes(values.map((value) => JSON.stringify(value))).replaceAll(", ", " or ")
  if (anyOf !== undefined) return [...new Set(asList(anyOf).map(typeOf))].join(", or ")
  if (type === "string") return `text${rangeOf(schema)}`
  if (type === "array") {
    const item = isJsonObject(items) ? items : {}
    return `list${typeof item["type"] === "string" ? ` of ${plural[item["type"]] ?? "lists"}` : ""}`
  }
  return typeof type === "string" ? `${type}${rangeOf(schema)}` : "any"
}

/** Entries of objects and lists are listed with the name of their owner in front. */
const fieldRows = (
  schema: JsonObject,
  prefix: string
): ReadonlyArray<readonly [name: string, type: string, isRequired: boolean]> => {
  const required: ReadonlyArray<unknown> = Array.isArray(schema["required"]) ? schema["required"] : []
  const own = Object.entries(isJsonObject(schema["properties"]) ? schema["properties"] : {}).flatMap(([key, value]) => {
    if (!isJsonObject(value)) return []
    const name = prefix === "" ? key : `${prefix}.${key}`
    return [[name, typeOf(value), required.includes(key)] as const, ...fieldRows(value, name)]
  })
  const { additionalProperties, anyOf, items } = schema
  return [
    ...own,
    ...(isJsonObject(items) ? fieldRows(items, `${prefix}[]`) : []),
    ...(isJsonObject(additionalProperties) ? fieldRows(additionalProperties, `${prefix}.NAME`.replace(/^\./, "")) : []),
    ...asList(anyOf).flatMap((one) => fieldRows(one, prefix))
  ]
}

/** The fields of a schema by their names, as they are written. Fields of alternatives are merged. */
const fieldsOf = (
  schema: Schema.Top
): ReadonlyArray<{ readonly name: string; readonly types: ReadonlyArray<string>; readonly isRequired: boolean }> =>
  [...Map.groupBy(fieldRows(toJsonSchema(schema), ""), ([name]) => name)].map(([name, rows]) => ({
    name,
    types: [...new Set(rows.map(([, type]) => type))],
    isRequired: rows.every(([, , isRequired]) => isRequired)
  }))

/** Fields with a default are not required. */
export const fieldTable = (
  heading: "field" | "key",
  schema: Schema.Top,
  defaults: { readonly [name: string]: unknown } = {}
): string =>
  table(
    [heading, "type", "required", "default"],
    fieldsOf(schema).map(({ isRequired, name, types }) => {
      const hasDefault = Object.hasOwn(defaults, name)
      return [
        code(name),
        types.join(", or "),
        isRequired && !hasDefault ? "yes" : "",
        hasDefault ? code(JSON.stringify(defaults[name])) : ""
      ]
    })
  )
