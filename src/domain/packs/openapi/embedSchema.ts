import { isJsonObject, type JsonObject, maxJsonDepth } from "../../json.ts"
import { decodePointerSegment, resolveRef } from "../params/jsonSchema.ts"

/** More than so many schemas within one are no parameters; what is beyond is left open. */
const maxSchemas = 10_000

/** Keywords that hold another schema. */
const singleSchemaKeywords: ReadonlySet<string> = new Set([
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
const schemaListKeywords: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"])

/** Keywords that hold schemas by name. */
const schemaMapKeywords: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependentSchemas",
  "patternProperties",
  "properties"
])

/** Names and bases of a schema of its own, which mean something else, or nothing, within a document. */
const documentScopeKeywords: ReadonlySet<string> = new Set([
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
type RefRewriter = (reference: string) => string | undefined

/** Goes through a schema, and copies it with its references redirected. What is data in it, such as a default, stays. */
const rewriteSchema = (schema: unknown, redirect: RefRewriter): JsonObject | boolean => {
  let count = 0
  const visit = (node: unknown, depth: number): JsonObject | boolean => {
    if (typeof node === "boolean") return node
    // Objects of a program may hold themselves; JSON cannot.
    if (!isJsonObject(node) || depth > maxJsonDepth || ++count > maxSchemas) return {}
    return Object.fromEntries(
      Object.entries(node).flatMap(([keyword, value]): ReadonlyArray<readonly [string, unknown]> => {
        if (documentScopeKeywords.has(keyword) || value === undefined) return []
        if (keyword === "$ref") {
          const target = typeof value === "string" ? redirect(value) : undefined
          return target === undefined ? [] : [[keyword, target]]
        }
        // The drafts before 2020 wrote tuples like this.
        const isTuple = keyword === "items" && Array.isArray(value)
        if (isTuple || schemaListKeywords.has(keyword)) {
          const list = Array.isArray(value) ? value.map((item) => visit(item, depth + 1)) : []
          return list.length === 0 ? [] : [[isTuple ? "prefixItems" : keyword, list]]
        }
        if (singleSchemaKeywords.has(keyword)) return [[keyword, visit(value, depth + 1)]]
        if (!schemaMapKeywords.has(keyword)) return [[keyword, value]]
        const members = isJsonObject(value) ? Object.entries(value) : []
        return [[keyword, Object.fromEntries(members.map(([name, one]) => [name, visit(one, depth + 1)]))]]
      })
    )
  }
  return visit(schema, 0)
}

/** A name as a part of a pointer in a reference. */
const encodePointerSegment = (name: string): string =>
  encodeURIComponent(name.toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1")).replaceAll("%24", "$")

/** Writes the parts of a pointer anew, so that every reader takes them for the same. */
const rewritePointer = (reference: string, basePointer: string): string => {
  const parts = reference.split("/").slice(1)
  return [basePointer, ...parts.map((part) => encodePointerSegment(decodePointerSegment(part)))].join("/")
}

/**
 * A JSON Schema as a part of a larger document, where it stands at `place`, such as `#/components/schemas/fetch`. Its
 * definitions stay within it, and references to them lead there; a reference that leads nowhere, or out of the schema,
 * is dropped, as it would spoil the document for everything else.
 */
export const embedSchema = (schema: JsonObject, basePointer: string): JsonObject => {
  const normalized = rewriteSchema(schema, (reference) => reference)
  const embedded = rewriteSchema(normalized, (reference) => {
    const target = resolveRef(normalized, reference)
    return isJsonObject(target) || typeof target === "boolean"
      ? rewritePointer(reference, basePointer)
      : undefined
  })
  if (!isJsonObject(embedded) || embedded["$ref"] === undefined) return isJsonObject(embedded) ? embedded : {}
  // Many readers take a reference for all there is, and would lose the definitions beside it.
  const { $ref, allOf, ...rest } = embedded
  return { ...rest, allOf: [...(Array.isArray(allOf) ? allOf : []), { $ref }] }
}
