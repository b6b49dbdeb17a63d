import { errorMessage } from "../errorMessage.ts"
import { isJsonObject, parseJson, parseJsonOrThrow } from "../json.ts"
import { escapeLinesForTerminal } from "../text/escapeForTerminal.ts"
import { formatNumberOf } from "../text/format.ts"
import type { Bounds, FieldOf, FormField, FormMember } from "./schemaForm.ts"
import { textFormatProblem } from "./textFormats.ts"

/** What must be changed before a value is sent; `path` as in `filter.items[0]`, empty for the whole. */
export interface FormProblem {
  readonly path: string
  readonly message: string
}

/** A text in the place of a value: of a number or of JSON in the making, or an empty one. JSON leaves it out. */
export class Unfinished {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toJSON(): undefined {
    return undefined
  }
}

/** The paths of the parts of a value in problems. */
export const pathOfMember = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`)
export const pathOfItem = (path: string, index: number): string => `${path}[${index}]`

/** The members of a group with their values. A value may have others, which are JSON. */
export const formMembers = ({ members }: FieldOf<"Group">, value: unknown) => {
  const values = new Map(isJsonObject(value) ? Object.entries(value) : [])
  const known = new Set(members.map(({ name }) => name))
  const others = [...values.keys()].filter((name) => !known.has(name))
  const json = { required: false, field: { _tag: "Json" } } as const
  return [...members, ...others.map((name) => ({ name, ...json }))].map((member) => ({
    ...member,
    value: values.get(member.name)
  }))
}

/** The index of a value among the values of a choice, or else -1. */
export const choiceIndex = ({ choices }: FieldOf<"Choice">, value: unknown): number =>
  choices.findIndex((choice) => JSON.stringify(choice.value) === JSON.stringify(value))

/** True for a field without a value: null is the one of an optional field. */
export const isEmptyValue = ({ nullable }: FormField, value: unknown): boolean =>
  value === undefined || (value === null && nullable === true)

/** True for a value that the control of its field shows. Others are shown as JSON. */
export const fitsField = (field: FormField, value: unknown): boolean => {
  if (isEmptyValue(field, value)) return true
  switch (field._tag) {
    case "Text":
      return typeof value === "string"
    case "Number":
      return typeof value === "number" || value instanceof Unfinished
    case "Flag":
      return typeof value === "boolean"
    case "Choice":
      return choiceIndex(field, value) >= 0 || value instanceof Unfinished
    case "Group":
      return isJsonObject(value)
    case "List":
      return Array.isArray(value)
    case "Variants":
      return field.variants.some((variant) => fitsField(variant, value))
    case "Json":
      return true
  }
}

/** What stands in a required field without a default. */
const blankValue = ({ _tag }: FormField): unknown => (_tag === "Text" ? "" : new Unfinished(""))

/** The value of a field that was emptied. */
export const emptyValue = (field: FormField, required: boolean): unknown => {
  if (!required) return undefined
  return field.nullable ? null : blankValue(field)
}

/** The value of a new field: its default, and what its required parts begin with. */
export const initialValue = (field: FormField): unknown => {
  if (field.initial !== undefined) return field.initial
  switch (field._tag) {
    case "Flag":
      return false
    case "Choice":
      return field.choices.length === 1 ? field.choices[0]?.value : blankValue(field)
    case "Group": {
      const valueOf = ({ field: member, required }: FormMember) =>
        member.initial === undefined && (!required || member.nullable)
          ? emptyValue(member, required)
          : initialValue(member)
      return Object.fromEntries(field.members.map((member) => [member.name, valueOf(member)]))
    }
    case "List":
      return []
    case "Variants":
      return field.variants[0] && initialValue(field.variants[0])
    case "Json":
      return field.isObject ? {} : blankValue(field)
    case "Text":
    case "Number":
      return blankValue(field)
  }
}

/** The text of a value in a control for numbers or for JSON. Characters that hide or reorder others are escapes. */
export const formatEntry = (field: FormField, value: unknown): string => {
  if (value instanceof Unfinished) return value.text
  return isEmptyValue(field, value) ? "" : escapeLinesForTerminal(JSON.stringify(value, null, 2))
}

/** The value of such a text. */
export const parseEntry = (field: FormField, required: boolean, text: string): unknown => {
  if (text.trim() === "") return emptyValue(field, required)
  const value = field._tag === "Number" ? Number(text) : parseJson(text)
  const isValue = typeof value === "number" ? Number.isFinite(value) : value !== undefined
  return isValue ? value : new Unfinished(text)
}

/** A required text is not empty, unless its schema says so by `minLength: 0` or by its default. */
const mayBeEmpty = ({ initial, min, nullable }: FieldOf<"Text">, isRequired: boolean): boolean =>
  !isRequired || nullable === true || min === 0 || initial === ""

const sizeProblem = (size: number, { min = -Infinity, max = Infinity }: Bounds, noun?: string): string | undefined => {
  const format = (bound: number) => (noun === undefined ? bound : formatNumberOf(bound, noun))
  if (noun === undefined && min > -Infinity && max < Infinity && (size < min || size > max))
    return `Enter a number from ${min} to ${max}`
  if (size < min) return `At least ${format(min)}`
  return size > max ? `At most ${format(max)}` : undefined
}

const wholeNumber = "Enter a whole number such as 3"

/** What is wrong with a field without a value. */
const unfinishedProblem = (field: FormField, text: string): string | undefined => {
  if (text === "") return field._tag === "Choice" ? "Choose one" : "Required"
  if (field._tag !== "Number") return findJsonError(text)
  return field.integer ? wholeNumber : "Enter a number such as 1.5"
}

const ownProblem = (field: FormField, value: unknown, isRequired: boolean): string | undefined => {
  if (value === undefined) return isRequired ? unfinishedProblem(field, "") : undefined
  if (value instanceof Unfinished) return unfinishedProblem(field, value.text)
  if (field._tag === "Json" && field.isObject && !isJsonObject(value)) return "Enter a JSON object such as {}"
  if (field._tag === "List" && Array.isArray(value)) return sizeProblem(value.length, field, "value")
  if (field._tag === "Number" && typeof value === "number")
    return field.integer && !Number.isInteger(value) ? wholeNumber : sizeProblem(value, field)
  if (field._tag !== "Text" || typeof value !== "string") return undefined
  if (value === "" && !mayBeEmpty(field, isRequired)) return "Required"
  return sizeProblem([...value].length, field, "character") ?? textFormatProblem(field.format, value)
}

/** What must be changed in a value. What does not fit its field is checked where it is sent. */
export const findProblems = (
  field: FormField,
  value: unknown,
  isRequired = true,
  path = ""
): ReadonlyArray<FormProblem> => {
  if (field._tag === "Variants") {
    const found = field.variants
      .filter((variant) => value !== undefined && fitsField(variant, value))
      .map((variant) => findProblems(variant, value, true, path))
    if (found.length > 0) return found.some(({ length }) => length === 0) ? [] : found.flat()
  }
  const message = ownProblem(field, value, isRequired)
  const own = message === undefined ? [] : [{ path, message }]
  if (field._tag === "List" && Array.isArray(value))
    return [...own, ...value.flatMap((item, index) => findProblems(field.item, item, true, pathOfItem(path, index)))]
  if (field._tag !== "Group" || !isJsonObject(value)) return own
  return formMembers(field, value).flatMap((member) =>
    findProblems(member.field, member.value, member.required, pathOfMember(path, member.name))
  )
}

/** States the first error of a JSON text, in the words of the engine; `undefined` for valid JSON. */
const findJsonError = (text: string): string | undefined => {
  try {
    parseJsonOrThrow(text)
    return undefined
  } catch (error) {
    return `Not JSON: ${errorMessage(error)}`
  }
}
