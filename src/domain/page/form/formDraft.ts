import { errorMessage } from "../../errorMessage.ts"
import { isJsonObject, parseJson, parseJsonOrThrow } from "../../json.ts"
import type { FormField } from "../../schemas/schemaForm.ts"
import { textFormatProblem } from "../../schemas/textFormats.ts"
import { formatNumberOf } from "../../text/format.ts"

/** What is entered into a field. A value that does not fit its field is kept as JSON text. */
export type Draft =
  | { readonly _tag: "Absent" }
  /** Null of an optional field, which is shown as empty. */
  | { readonly _tag: "Null" }
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Flag"; readonly value: boolean }
  | { readonly _tag: "Choice"; readonly index: number }
  | { readonly _tag: "Group"; readonly members: ReadonlyMap<string, Draft> }
  | { readonly _tag: "List"; readonly items: ReadonlyArray<Draft> }
  | { readonly _tag: "Variant"; readonly index: number; readonly draft: Draft }
  | { readonly _tag: "Json"; readonly text: string }

/** What must be changed before the call; `path` as in `filter.items[0]`, empty for the whole. */
export interface DraftProblem {
  readonly path: string
  readonly message: string
}

export const absent: Draft = { _tag: "Absent" }

/** The paths of the parts of a value in problems. */
export const pathOfMember = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`)
export const pathOfItem = (path: string, index: number): string => `${path}[${index}]`

const formatValue = (value: unknown): string => JSON.stringify(value, null, 2)

const isEqualJson = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** A number keeps its value when it is entered again. */
const isEnterableNumber = (value: unknown, integer: boolean): value is number =>
  typeof value === "number" && (!integer || Number.isInteger(value)) && !Object.is(value, -0)

type Group = Extract<FormField, { readonly _tag: "Group" }>

/** The member of a group. A value may have others, which are JSON. */
export const memberNamed = ({ members }: Group, name: string): Group["members"][number] =>
  members.find((member) => member.name === name) ?? { name, required: false, field: { _tag: "Json" } }

const fittingDraft = (field: FormField, value: unknown): Draft | undefined => {
  if (value === null && field.nullable) return { _tag: "Null" }
  switch (field._tag) {
    case "Text":
      return typeof value === "string" ? { _tag: "Text", text: value } : undefined
    case "Number":
      return isEnterableNumber(value, field.integer) ? { _tag: "Text", text: String(value) } : undefined
    case "Flag":
      return typeof value === "boolean" ? { _tag: "Flag", value } : undefined
    case "Choice": {
      const index = field.values.findIndex((one) => isEqualJson(one, value))
      return index < 0 ? undefined : { _tag: "Choice", index }
    }
    case "Group":
      if (!isJsonObject(value)) return undefined
      return {
        _tag: "Group",
        members: new Map(
          Object.entries(value).map(([name, member]) => [name, draftOfValue(memberNamed(field, name).field, member)])
        )
      }
    case "List":
      return Array.isArray(value)
        ? { _tag: "List", items: value.map((item: unknown) => draftOfValue(field.item, item)) }
        : undefined
    case "Variants": {
      const drafts = field.variants.map((variant) => fittingDraft(variant, value))
      const index = drafts.findIndex((draft) => draft !== undefined && draft._tag !== "Json")
      const draft = drafts[index]
      return draft === undefined ? undefined : { _tag: "Variant", index, draft }
    }
    case "Json":
      return undefined
  }
}

/** The draft of a value; {@link valueOfDraft} gives the value again. */
export const draftOfValue = (field: FormField, value: unknown): Draft =>
  fittingDraft(field, value) ?? { _tag: "Json", text: formatValue(value) }

/** The draft of a new form: defaults, and empty fields for required members. */
export const initialDraft = (field: FormField, required = true): Draft => {
  if (field.initial !== undefined) return draftOfValue(field, field.initial)
  if (!required) return absent
  switch (field._tag) {
    case "Text":
    case "Number":
      return { _tag: "Text", text: "" }
    case "Flag":
      return { _tag: "Flag", value: false }
    case "Choice":
      return field.values.length === 1 ? { _tag: "Choice", index: 0 } : absent
    case "Group":
      return {
        _tag: "Group",
        members: new Map(
          field.members.map(({ field: member, name, required }) => [
            name,
            initialDraft(member, required && !member.nullable)
          ])
        )
      }
    case "List":
      return { _tag: "List", items: [] }
    case "Variants": {
      const [first] = field.variants
      return first === undefined ? absent : { _tag: "Variant", index: 0, draft: initialDraft(first) }
    }
    case "Json":
      return { _tag: "Json", text: "" }
  }
}

/** The value of a draft: `undefined` where it is absent or has problems. */
interface Outcome {
  readonly value?: unknown
  readonly problems: ReadonlyArray<DraftProblem>
}

const problem = (path: string, message: string): Outcome => ({ problems: [{ path, message }] })

/** A value that is kept, also when something is wrong with it. */
const checked = (value: unknown, path: string, message: string | undefined): Outcome => ({
  value,
  problems: message === undefined ? [] : [{ path, message }]
})

const required = "Required"

const lengthProblem = (length: number, noun: string, min = 0, max = Number.POSITIVE_INFINITY): string | undefined => {
  if (length < min) return `At least ${formatNumberOf(min, noun)}`
  return length > max ? `At most ${formatNumberOf(max, noun)}` : undefined
}

type FieldOf<Tag extends FormField["_tag"]> = Extract<FormField, { readonly _tag: Tag }>

/** A required text is not empty, unless its schema says so by `minLength: 0` or by its default. */
const textProblem = (field: FieldOf<"Text">, text: string, isRequired: boolean): string | undefined => {
  const { format, initial, maxLength, minLength, nullable } = field
  const mayBeEmpty = !isRequired || nullable || minLength === 0 || initial === ""
  if (text === "" && !mayBeEmpty) return required
  return (
    lengthProblem([...text].length, "character", minLength, maxLength) ??
    (text === "" ? undefined : textFormatProblem(format, text))
  )
}

const rangeProblem = (value: number, { max, min }: FieldOf<"Number">): string | undefined => {
  if (value >= (min ?? value) && value <= (max ?? value)) return undefined
  if (min !== undefined && max !== undefined) return `Enter a number from ${min} to ${max}`
  return max === undefined ? `At least ${min}` : `At most ${max}`
}

const valueOfNumber = (field: FieldOf<"Number">, text: string, isRequired: boolean, path: string): Outcome => {
  const trimmed = text.trim()
  if (trimmed === "") return isRequired ? problem(path, required) : { problems: [] }
  const value = Number(trimmed)
  if (!Number.isFinite(value))
    return problem(path, `Enter a ${field.integer ? "whole number such as 3" : "number such as 1.5"}`)
  return field.integer && !Number.isInteger(value)
    ? problem(path, "Enter a whole number such as 3")
    : checked(value, path, rangeProblem(value, field))
}

const valueOfJson = (text: string, isRequired: boolean, path: string): Outcome => {
  if (text.trim() === "") return isRequired ? problem(path, required) : { problems: [] }
  const error = findJsonError(text)
  return error === undefined ? { value: parseJson(text), problems: [] } : problem(path, error)
}

const valueOfGroup = (group: Group, members: ReadonlyMap<string, Draft>, path: string): Outcome => {
  const names = [...new Set([...members.keys(), ...group.members.map(({ name }) => name)])]
  const outcomes = names.map((name) => {
    const member = memberNamed(group, name)
    return { name, ...valueAt(member.field, members.get(name) ?? absent, member.required, pathOfMember(path, name)) }
  })
  const values = outcomes.filter(({ value }) => value !== undefined).map(({ name, value }) => [name, value])
  return { value: Object.fromEntries(values), problems: outcomes.flatMap(({ problems }) => problems) }
}

const valueOfList = (field: FieldOf<"List">, items: ReadonlyArray<Draft>, path: string): Outcome => {
  const outcomes = items.map((item, index) => valueAt(field.item, item, true, pathOfItem(path, index)))
  const values = outcomes.map(({ value }) => value)
  const { problems: own } = checked(values, path, lengthProblem(items.length, "value", field.min, field.max))
  return { value: values, problems: [...own, ...outcomes.flatMap(({ problems }) => problems)] }
}

const valueAt = (field: FormField, draft: Draft, isRequired: boolean, path: string): Outcome => {
  if (draft._tag === "Null" || (draft._tag === "Absent" && isRequired && field.nullable))
    return { value: null, problems: [] }
  if (draft._tag === "Absent")
    return isRequired ? problem(path, field._tag === "Choice" ? "Choose one" : required) : { problems: [] }
  if (draft._tag === "Json") return valueOfJson(draft.text, isRequired, path)
  if (draft._tag === "Text" && field._tag === "Number") return valueOfNumber(field, draft.text, isRequired, path)
  if (draft._tag === "Text" && field._tag === "Text")
    return checked(draft.text, path, textProblem(field, draft.text, isRequired))
  if (draft._tag === "Flag") return { value: draft.value, problems: [] }
  if (draft._tag === "Choice" && field._tag === "Choice") return { value: field.values[draft.index], problems: [] }
  if (draft._tag === "Group" && field._tag === "Group") return valueOfGroup(field, draft.members, path)
  if (draft._tag === "List" && field._tag === "List") return valueOfList(field, draft.items, path)
  const variant = draft._tag === "Variant" && field._tag === "Variants" ? field.variants[draft.index] : undefined
  if (draft._tag !== "Variant" || variant === undefined) return problem(path, "Does not fit the form")
  return valueAt(variant, draft.draft, true, path)
}

/** The value of a draft of the whole form, and what must be changed before the call. */
export const valueOfDraft = (field: FormField, draft: Draft): Outcome => valueAt(field, draft, true, "")

/** States the first error of a JSON text, in the words of the engine; `undefined` for valid JSON. */
export const findJsonError = (text: string): string | undefined => {
  try {
    parseJsonOrThrow(text)
    return undefined
  } catch (error) {
    return `Not JSON: ${errorMessage(error)}`
  }
}
