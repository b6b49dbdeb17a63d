import { findRoundedIntegers, isJsonObject, joinPointer, type JsonObject } from "../json.ts"
import { schemaMapKeywords } from "./jsonSchema.ts"

/** A value without rounded integers, and JSON pointers to the members that were left out. */
interface ExactValue {
  readonly value: JsonObject
  readonly places: ReadonlyArray<string>
}

/** Keywords whose value is data in any form. */
const dataKeywords: ReadonlySet<string> = new Set(["const", "default", "enum", "examples"])

/** Those that refuse no value. */
const annotationKeywords: ReadonlySet<string> = new Set(["default", "examples"])

const isRounded = (value: unknown): boolean => findRoundedIntegers(value).length > 0

/** The numbers of a value that is a number or a list. */
const numbersIn = (value: unknown): ReadonlyArray<number> =>
  [value].flat(Infinity).filter((item) => typeof item === "number")

const addPart = ({ allOf, ...schema }: JsonObject, part: JsonObject): JsonObject => ({
  ...schema,
  allOf: [...(Array.isArray(allOf) ? allOf : []), part]
})

/** Keywords that refuse more when a part accepts more, in a form that does not. */
const relaxedForms: { readonly [keyword: string]: (schema: JsonObject) => JsonObject } = {
  contains: ({ maxContains: _, ...schema }) => schema,
  not: ({ not: _, ...schema }) => schema,
  oneOf: ({ oneOf, ...schema }) => addPart(schema, { anyOf: oneOf }),
  if: ({ else: otherwise = {}, if: condition, then = {}, ...schema }) =>
    addPart(schema, { anyOf: [{ allOf: [condition, then] }, otherwise] })
}

const relaxAround = (schema: JsonObject, relaxed: ReadonlySet<string>): JsonObject =>
  Object.entries(relaxedForms).reduce(
    (node, [keyword, relax]) => (relaxed.has(keyword) && Object.hasOwn(node, keyword) ? relax(node) : node),
    schema
  )

/** Leaves out members with rounded integers. References accept more than before when `areRefsRelaxed`. */
const dropMembers = (whole: JsonObject, areRefsRelaxed: boolean): ExactValue & { readonly isRelaxed: boolean } => {
  const places: Array<string> = []
  /** `isMap` for an object with names instead of keywords. */
  const visit = (node: JsonObject, pointer: string, isMap: boolean) => {
    const relaxed = new Set<string>()
    const visitPart = (value: unknown, place: string, name: string): unknown => {
      if (Array.isArray(value)) return value.map((item, index) => visitPart(item, joinPointer(place, index), name))
      if (!isJsonObject(value)) return value
      const part = visit(value, place, !isMap && schemaMapKeywords.has(name))
      if (part.isRelaxed) relaxed.add(name)
      return part.value
    }
    const members = Object.entries(node).flatMap(([name, value]) => {
      const place = joinPointer(pointer, name)
      const isData = !isMap && dataKeywords.has(name)
      if (isData ? isRounded(value) : numbersIn(value).some(isRounded)) {
        places.push(place)
        if (isMap || !annotationKeywords.has(name)) relaxed.add(name)
        return []
      }
      if (name === "$ref" && areRefsRelaxed) relaxed.add(name)
      return [[name, isData ? value : visitPart(value, place, name)] as const]
    })
    const kept: JsonObject = Object.fromEntries(members)
    return { value: isMap ? kept : relaxAround(kept, relaxed), isRelaxed: relaxed.size > 0 }
  }
  return { ...visit(whole, "", false), places }
}

/**
 * Leaves out the members of a listed item whose integers its parser may have rounded, at any depth. In a schema these are
 * keywords. A schema refuses no value that it accepted with the exact integers.
 */
export const withoutRoundedIntegers = (item: JsonObject): ExactValue => {
  if (!isRounded(item)) return { value: item, places: [] }
  const { isRelaxed, ...exact } = dropMembers(item, false)
  if (!isRelaxed) return exact
  const { places, value } = dropMembers(item, true)
  return { value, places }
}
