import { isJsonObject, type JsonObject, maxJsonDepth } from "../../json.ts"
import {
  decodePointerSegment,
  resolveRef,
  schemaListKeywords,
  schemaMapKeywords,
  singleSchemaKeywords
} from "../../schemas/jsonSchema.ts"

/** Limit of subschemas in one schema; the rest becomes `{}`. */
const maxSchemas = 10_000

/** Identifiers and anchors: they mean something else, or nothing, inside a larger document. */
const documentScopeKeywords: ReadonlySet<string> = new Set(
  "$schema $id id $anchor $dynamicAnchor $dynamicRef $recursiveAnchor $recursiveRef $vocabulary".split(" ")
)

/** Copies a schema and redirects its references; undefined removes one. Data, such as defaults, stays unchanged. */
const rewriteSchema = (schema: unknown, redirect: (reference: string) => string | undefined): JsonObject | boolean => {
  let count = 0
  const visit = (node: unknown, depth: number): JsonObject | boolean => {
    if (typeof node === "boolean") return node
    // Objects of a program can be cyclic.
    if (!isJsonObject(node) || depth > maxJsonDepth || ++count > maxSchemas) return {}
    return Object.fromEntries(
      Object.entries(node).flatMap(([keyword, value]): ReadonlyArray<readonly [string, unknown]> => {
        if (documentScopeKeywords.has(keyword) || value === undefined) return []
        if (keyword === "$ref") {
          const target = typeof value === "string" ? redirect(value) : undefined
          return target === undefined ? [] : [[keyword, target]]
        }
        // Drafts before 2020 write tuples as a list of `items`.
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

const encodePointerSegment = (name: string): string =>
  encodeURIComponent(name.toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1")).replaceAll("%24", "$")

/** Normalizes the escapes of a pointer, so all readers resolve it alike. */
const rewritePointer = (reference: string, basePointer: string): string => {
  const parts = reference.split("/").slice(1)
  return [basePointer, ...parts.map((part) => encodePointerSegment(decodePointerSegment(part)))].join("/")
}

/**
 * Embeds a JSON Schema in a larger document at `basePointer`, such as `#/components/schemas/fetch`. References to its
 * own definitions are rewritten. Others are removed, because one of them would invalidate the whole document.
 */
export const embedSchema = (schema: JsonObject, basePointer: string): JsonObject => {
  const normalized = rewriteSchema(schema, (reference) => reference)
  const embedded = rewriteSchema(normalized, (reference) => {
    const target = resolveRef(normalized, reference)
    return isJsonObject(target) || typeof target === "boolean" ? rewritePointer(reference, basePointer) : undefined
  })
  if (!isJsonObject(embedded) || embedded["$ref"] === undefined) return isJsonObject(embedded) ? embedded : {}
  // Many readers ignore the siblings of a `$ref`, and would lose the definitions.
  const { $ref, allOf, ...rest } = embedded
  return { ...rest, allOf: [...(Array.isArray(allOf) ? allOf : []), { $ref }] }
}
