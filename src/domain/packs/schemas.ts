import { Result } from "effect"
import { isJsonObject, type JsonObject } from "../json.ts"
import type { PackRoute } from "./offer.ts"

/** So many parts of one schema are looked at; more alternatives than that are no parameters any more. */
const mostParts = 64

/** A part of a pointer as the name it stands for: pointers in URIs are escaped twice. */
export const decodePart = (part: string): string =>
  part
    .replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, (codes) =>
      // What is no UTF-8 is a name that holds percent signs itself.
      Result.getOrElse(
        Result.try(() => decodeURIComponent(codes)),
        () => codes
      )
    )
    .replaceAll("~1", "/")
    .replaceAll("~0", "~")

/** Follows a pointer such as `#/$defs/Level` through a document; nothing when it leads nowhere, or elsewhere. */
export const follow = (root: unknown, reference: string): unknown => {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined
  let node: unknown = root
  for (const part of reference.split("/").slice(1)) {
    const key = decodePart(part)
    if (Array.isArray(node)) node = /^\d+$/.test(key) ? node[Number(key)] : undefined
    else node = isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined
  }
  return node
}

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The types that a schema names, or that it means without naming them. */
export const typesOf = ({ items, prefixItems, properties, type }: JsonObject): ReadonlyArray<unknown> => {
  if (type !== undefined) return Array.isArray(type) ? type : [type]
  if (properties !== undefined) return ["object"]
  return items !== undefined || prefixItems !== undefined ? ["array"] : []
}

/** The values that a schema lists one by one. */
export const literalsOf = (schema: JsonObject): ReadonlyArray<unknown> => [
  ...listOf(schema["enum"]),
  ...(Object.hasOwn(schema, "const") ? [schema["const"]] : [])
]

const isNull = (schema: unknown): boolean =>
  isJsonObject(schema) && (schema["type"] === "null" || schema["const"] === null)

/** The branches of `anyOf` and `oneOf` to look at: all of them, the only one beside null, or none. */
export type Branches = "all" | "sole" | "none"

const branchesOf = (schema: JsonObject, branches: Branches): ReadonlyArray<unknown> => {
  const given = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])]
  if (branches === "all") return given
  const real = given.filter((branch) => !isNull(branch))
  return branches === "sole" && real.length === 1 ? real : []
}

/**
 * A schema and everything it says elsewhere: behind `$ref`, in `allOf`, and in branches. What stands nearest comes first;
 * references that lead in circles end.
 */
export const partsOf = (root: JsonObject, schema: unknown, branches: Branches): ReadonlyArray<JsonObject> => {
  const parts = new Set<JsonObject>()
  const open = [schema]
  for (let index = 0; index < open.length && parts.size < mostParts; index++) {
    const part = open[index]
    if (!isJsonObject(part) || parts.has(part)) continue
    parts.add(part)
    const reference = part["$ref"]
    if (typeof reference === "string") open.push(follow(root, reference))
    open.push(...[...listOf(part["allOf"]), ...branchesOf(part, branches)].slice(0, mostParts))
  }
  return [...parts]
}

/** The schemas of the members of an object, by name; several for one name are alternatives. */
export const membersOf = (parts: ReadonlyArray<JsonObject>): ReadonlyMap<string, unknown> => {
  const members = new Map<string, unknown>()
  for (const { properties } of parts) {
    if (!isJsonObject(properties)) continue
    for (const [name, schema] of Object.entries(properties)) {
      members.set(name, members.has(name) ? { anyOf: [members.get(name), schema] } : schema)
    }
  }
  return members
}

/** The schema of the item at a place of an array; nothing where any item will do. */
export const itemOf = (parts: ReadonlyArray<JsonObject>, index: number): unknown => {
  for (const { items, prefixItems } of parts) {
    const schema = listOf(prefixItems)[index] ?? items
    if (isJsonObject(schema)) return schema
  }
  return undefined
}

/** Text in a file is text, but JSON in a text is a parameter like any other. */
const isBinaryType = (type: unknown): boolean => typeof type === "string" && !/[/+]json$/.test(type)

const isFile = (schema: JsonObject): boolean => {
  const { contentEncoding, contentMediaType, contentSchema, format } = schema
  if (!typesOf(schema).includes("string")) return false
  if (format === "binary" || contentEncoding === "binary") return true
  return isBinaryType(contentMediaType) && contentEncoding === undefined && contentSchema === undefined
}

/**
 * Which parameters are files, by name, and whether each takes many: texts with `format: "binary"` or a
 * `contentMediaType`, as pydantic, zod and OpenAPI write them, and arrays of these.
 */
export const fileParams = (schema: JsonObject): PackRoute["files"] => {
  const filesIn = (given: unknown) => partsOf(schema, given, "all")
  return Object.fromEntries(
    [...membersOf(filesIn(schema))].flatMap(([name, member]) => {
      const parts = filesIn(member)
      const many = filesIn(itemOf(parts, 0)).some(isFile)
      return many || parts.some(isFile) ? [[name, { many }]] : []
    })
  )
}
