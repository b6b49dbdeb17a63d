import { isJsonObject, type JsonObject, maxDepth } from "../json.ts"
import { decodePart, follow } from "./schemas.ts"

/** More than so many schemas within one are no parameters; what is beyond is left open. */
const mostSchemas = 10_000

/** Keywords that hold another schema. */
const holdsOne: ReadonlySet<string> = new Set([
  "additionalItems",
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties"
])

/** Keywords that hold a list of schemas. */
const holdsList: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])

/** Keywords that hold schemas by name. */
const holdsNamed: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependentSchemas",
  "patternProperties",
  "properties"
])

/** Names and bases of a schema of its own, which mean something else, or nothing, within a document. */
const ownWords: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "id",
  "$anchor",
  "$dynamicAnchor",
  "$dynamicRef",
  "$recursiveAnchor",
  "$recursiveRef",
  "$vocabulary"
])

/** Says where a reference leads in the document; nothing drops it, so that the place is left open. */
type Redirect = (reference: string) => string | undefined

/** Goes through a schema, and copies it with its references redirected. What is data in it, such as a default, stays. */
const rewrite = (schema: unknown, redirect: Redirect): JsonObject | boolean => {
  let count = 0
  const any = (node: unknown, depth: number): JsonObject | boolean => {
    if (typeof node === "boolean") return node
    // Objects of a program may hold themselves; JSON cannot.
    if (!isJsonObject(node) || depth > maxDepth || ++count > mostSchemas) return {}
    return Object.fromEntries(
      Object.entries(node).flatMap(([keyword, value]): ReadonlyArray<readonly [string, unknown]> => {
        if (ownWords.has(keyword) || value === undefined) return []
        if (keyword === "$ref") {
          const target = typeof value === "string" ? redirect(value) : undefined
          return target === undefined ? [] : [[keyword, target]]
        }
        // The drafts before 2020 wrote tuples like this.
        const isTuple = keyword === "items" && Array.isArray(value)
        if (isTuple || holdsList.has(keyword)) {
          const list = Array.isArray(value) ? value.map((item) => any(item, depth + 1)) : []
          return list.length === 0 ? [] : [[isTuple ? "prefixItems" : keyword, list]]
        }
        if (holdsOne.has(keyword)) return [[keyword, any(value, depth + 1)]]
        if (!holdsNamed.has(keyword)) return [[keyword, value]]
        const members = isJsonObject(value) ? Object.entries(value) : []
        return [[keyword, Object.fromEntries(members.map(([name, one]) => [name, any(one, depth + 1)]))]]
      })
    )
  }
  return any(schema, 0)
}

/** A name as a part of a pointer in a reference. */
const encodePart = (name: string): string =>
  encodeURIComponent(name.toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1")).replaceAll("%24", "$")

/** Writes the parts of a pointer anew, so that every reader takes them for the same. */
const repoint = (reference: string, place: string): string => {
  const parts = reference.split("/").slice(1)
  return [place, ...parts.map((part) => encodePart(decodePart(part)))].join("/")
}

/**
 * A JSON Schema as a part of a larger document, where it stands at `place`, such as `#/components/schemas/fetch`. Its
 * definitions stay within it, and references to them lead there; a reference that leads nowhere, or out of the schema,
 * is dropped, as it would spoil the document for everything else.
 */
export const embedSchema = (schema: JsonObject, place: string): JsonObject => {
  const own = rewrite(schema, (reference) => reference)
  const embedded = rewrite(own, (reference) => {
    const target = follow(own, reference)
    return isJsonObject(target) || typeof target === "boolean" ? repoint(reference, place) : undefined
  })
  if (!isJsonObject(embedded) || embedded["$ref"] === undefined) return isJsonObject(embedded) ? embedded : {}
  // Many readers take a reference for all there is, and would lose the definitions beside it.
  const { $ref, allOf, ...rest } = embedded
  return { ...rest, allOf: [...(Array.isArray(allOf) ? allOf : []), { $ref }] }
}
