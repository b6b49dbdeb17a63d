import { Result } from "effect"
import { asObject, asStrings, isJsonObject, type JsonObject, maxJsonDepth } from "../json.ts"
import { resolveRef, schemaListKeywords, schemaMapKeywords, singleSchemaKeywords } from "./jsonSchema.ts"

/** Gives the value of a keyword in its right form; `undefined` leaves the keyword out. */
type Repair = (value: unknown) => unknown

const keepIf =
  (isValid: (value: unknown) => boolean): Repair =>
  (value) =>
    isValid(value) ? value : undefined

const text = keepIf((value) => typeof value === "string")
const flag = keepIf((value) => typeof value === "boolean")
const number = keepIf((value) => typeof value === "number")
const count = keepIf((value) => typeof value === "number" && Number.isInteger(value) && value >= 0)
const nothing: Repair = () => undefined

/** The texts of a list, each once; a text alone is a list of one. */
const texts: Repair = (value) => {
  if (typeof value === "string") return [value]
  if (!Array.isArray(value)) return undefined
  return asStrings(value) ?? value.filter((item) => typeof item === "string")
}

const isPattern = (value: unknown): boolean =>
  typeof value === "string" && Result.isSuccess(Result.try(() => new RegExp(value, "u")))

const isKnownDraft = (value: unknown): boolean =>
  typeof value === "string" && /^https?:\/\/json-schema\.org\/draft(-0[67]|\/20(19-09|20-12))\/schema#?$/.test(value)

const typeNames: ReadonlyArray<unknown> = ["string", "number", "integer", "boolean", "object", "array", "null"]

/** The types that exist. */
const types: Repair = (value) => {
  if (!Array.isArray(value)) return typeNames.includes(value) ? value : undefined
  const known = value.filter((name) => typeNames.includes(name))
  return known.length === value.length && known.length > 0 ? value : undefined
}

const allBy = (repair: Repair, keywords: ReadonlyArray<string>): { readonly [keyword: string]: Repair } =>
  Object.fromEntries(keywords.map((keyword) => [keyword, repair]))

/** Keywords whose value no validator accepts in another form. */
const repairs: { readonly [keyword: string]: Repair } = {
  type: types,
  required: texts,
  enum: keepIf((value) => Array.isArray(value) && value.length > 0),
  pattern: keepIf(isPattern),
  $schema: keepIf(isKnownDraft),
  multipleOf: keepIf((value) => typeof value === "number" && value > 0),
  dependentRequired: (value) =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).flatMap(([name, list]) => (asStrings(list) ? [[name, list]] : [])))
      : undefined,
  // Validators refuse a schema with the identifier of draft 4, and answer later to one that is asynchronous.
  id: nothing,
  $async: nothing,
  // The headers of calls are between a server and its client: no publication checks them (SEP-2243).
  "x-mcp-header": nothing,
  ...allBy(text, ["$id", "$ref", "title", "description", "format"]),
  ...allBy(flag, ["uniqueItems", "nullable"]),
  ...allBy(number, ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]),
  ...allBy(count, ["minLength", "minItems", "minProperties", "minContains"]),
  ...allBy(count, ["maxLength", "maxItems", "maxProperties", "maxContains"])
}

const isSchema = (value: unknown): boolean => isJsonObject(value) || typeof value === "boolean"

/** `nullable` adds to a type, and contradicts none. */
const isNullableValid = ({ nullable, type }: JsonObject): boolean =>
  nullable === undefined || (type !== undefined && (nullable === true || ![type].flat().includes("null")))

/** Drafts before 2020 write tuples as a list of `items`. */
const hasListOfItems = (schema: JsonObject): boolean =>
  isKnownDraft(schema["$schema"]) && !String(schema["$schema"]).includes("2020-12")

/**
 * Leaves out the keywords of a JSON Schema, at any depth, whose value has a form that validators refuse. A schema that
 * names no draft, or an unknown one, counts as draft 2020-12.
 */
export const repairSchema = (schema: JsonObject): JsonObject => {
  const tuples = hasListOfItems(schema) ? "items" : "prefixItems"
  const visit = (node: unknown, depth: number): JsonObject | boolean => {
    if (typeof node === "boolean") return node
    // Objects of a program can be cyclic.
    if (!isJsonObject(node) || depth > maxJsonDepth) return {}
    const inner = (value: unknown) => visit(value, depth + 1)
    /** Some clients know no schema of a property that is true or false. */
    const property = (value: unknown) => {
      const schema = inner(value)
      return typeof schema === "boolean" ? (schema ? {} : { not: {} }) : schema
    }
    const repairMap = (keyword: string, value: unknown) =>
      Object.fromEntries(
        Object.entries(asObject(value)).flatMap(([name, one]) =>
          keyword === "patternProperties" && !isPattern(name)
            ? []
            : [
                [
                  name,
                  (keyword === "dependencies" ? asStrings(one) : undefined) ??
                    (keyword === "properties" ? property(one) : inner(one))
                ]
              ]
        )
      )
    const repairMember = (keyword: string, value: unknown): readonly [string, unknown] => {
      if (Object.hasOwn(repairs, keyword)) return [keyword, repairs[keyword]?.(value)]
      const isTuple = keyword === "items" && Array.isArray(value)
      if (isTuple || schemaListKeywords.has(keyword)) {
        const list = Array.isArray(value) && value.length > 0 ? value.map(inner) : undefined
        return [isTuple ? tuples : keyword, list]
      }
      if (singleSchemaKeywords.has(keyword)) return [keyword, isSchema(value) ? inner(value) : undefined]
      if (!schemaMapKeywords.has(keyword) && keyword !== "dependencies") return [keyword, value]
      return [keyword, repairMap(keyword, value)]
    }
    const members = Object.entries(node).map(([keyword, value]) => repairMember(keyword, value))
    const repaired: JsonObject = Object.fromEntries(members.filter(([, value]) => value !== undefined))
    const { nullable: _, ...rest } = repaired
    return isNullableValid(repaired) ? repaired : rest
  }
  const repaired = visit(schema, 0)
  return isJsonObject(repaired) ? repaired : {}
}

const scopeKeywords = ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"]

/**
 * True for a schema that every validator compiles by itself, also beside others: without names, and with
 * references to its own parts alone. Expects a repaired schema.
 */
export const isSelfContained = (schema: JsonObject): boolean => {
  const hasOnlyOwnParts = (node: unknown): boolean => {
    if (Array.isArray(node)) return node.every(hasOnlyOwnParts)
    if (!isJsonObject(node)) return true
    if (scopeKeywords.some((keyword) => node[keyword] !== undefined && !isJsonObject(node[keyword]))) return false
    const { $ref } = node
    const target = typeof $ref === "string" ? resolveRef(schema, $ref) : true
    return (isJsonObject(target) || target === true) && Object.values(node).every(hasOnlyOwnParts)
  }
  return hasOnlyOwnParts(schema)
}
