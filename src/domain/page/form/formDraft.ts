import { isJsonObject, parseJson } from "../../json.ts"
import type { FormField } from "../../schemas/schemaForm.ts"

/** What is entered into a field. A value that does not fit its field is kept as JSON text. */
export type Draft =
  | { readonly _tag: "Absent" }
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Flag"; readonly value: boolean }
  | { readonly _tag: "Choice"; readonly index: number }
  | { readonly _tag: "Group"; readonly members: ReadonlyMap<string, Draft> }
  | { readonly _tag: "List"; readonly items: ReadonlyArray<Draft> }
  | { readonly _tag: "Variant"; readonly index: number; readonly draft: Draft }
  | { readonly _tag: "Json"; readonly text: string }

/** What must be changed before the call; `path` as in `filter.items[0]`, empty for the whole. */
interface DraftProblem {
  readonly path: string
  readonly message: string
}

export const absent: Draft = { _tag: "Absent" }

const formatValue = (value: unknown): string => JSON.stringify(value, null, 2)

const isEqualJson = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** A number keeps its value when it is entered again. */
const isEnterableNumber = (value: unknown, integer: boolean): value is number =>
  typeof value === "number" && (!integer || Number.isInteger(value)) && !Object.is(value, -0)

type Group = Extract<FormField, { readonly _tag: "Group" }>

/** The member of a group. A value may have others, which are JSON. */
const memberNamed = ({ members }: Group, name: string): Group["members"][number] =>
  members.find((member) => member.name === name) ?? { name, required: false, field: { _tag: "Json" } }

const fittingDraft = (field: FormField, value: unknown): Draft | undefined => {
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
        members: new Map(field.members.map((member) => [member.name, initialDraft(member.field, member.required)]))
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

const valueOfNumber = (text: string, integer: boolean, required: boolean, path: string): Outcome => {
  const trimmed = text.trim()
  if (trimmed === "" && !required) return { problems: [] }
  const value = trimmed === "" ? Number.NaN : Number(trimmed)
  if (!Number.isFinite(value)) return problem(path, "must be a number")
  return integer && !Number.isInteger(value) ? problem(path, "must be an integer") : { value, problems: [] }
}

const valueOfJson = (text: string, required: boolean, path: string): Outcome => {
  if (text.trim() === "") return required ? problem(path, "must be a JSON value") : { problems: [] }
  const error = findJsonError(text)
  return error === undefined ? { value: parseJson(text), problems: [] } : problem(path, error)
}

const valueOfGroup = (group: Group, members: ReadonlyMap<string, Draft>, path: string): Outcome => {
  const names = [...new Set([...members.keys(), ...group.members.map(({ name }) => name)])]
  const outcomes = names.map((name) => {
    const { field, required } = memberNamed(group, name)
    const below = path === "" ? name : `${path}.${name}`
    return { name, ...valueAt(field, members.get(name) ?? absent, required, below) }
  })
  const values = outcomes.filter(({ value }) => value !== undefined).map(({ name, value }) => [name, value])
  return { value: Object.fromEntries(values), problems: outcomes.flatMap(({ problems }) => problems) }
}

const valueAt = (field: FormField, draft: Draft, required: boolean, path: string): Outcome => {
  if (draft._tag === "Absent") return required ? problem(path, "is required") : { problems: [] }
  if (draft._tag === "Json") return valueOfJson(draft.text, required, path)
  if (draft._tag === "Text") {
    return field._tag === "Number"
      ? valueOfNumber(draft.text, field.integer, required, path)
      : { value: draft.text, problems: [] }
  }
  if (draft._tag === "Flag") return { value: draft.value, problems: [] }
  if (draft._tag === "Choice" && field._tag === "Choice") return { value: field.values[draft.index], problems: [] }
  if (draft._tag === "Group" && field._tag === "Group") return valueOfGroup(field, draft.members, path)
  if (draft._tag === "List" && field._tag === "List") {
    const items = draft.items.map((item, index) => valueAt(field.item, item, true, `${path}[${index}]`))
    return { value: items.map(({ value }) => value), problems: items.flatMap(({ problems }) => problems) }
  }
  const variant = draft._tag === "Variant" && field._tag === "Variants" ? field.variants[draft.index] : undefined
  if (draft._tag !== "Variant" || variant === undefined) return problem(path, "does not fit the form")
  return valueAt(variant, draft.draft, true, path)
}

/** The value of a draft of the whole form, and what must be changed before the call. */
export const valueOfDraft = (field: FormField, draft: Draft): Outcome => valueAt(field, draft, true, "")

const literalToken = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// oxlint-disable-next-line no-control-regex -- JSON forbids control characters in strings
const stringToken = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y
const whiteSpace = /[ \t\n\r]*/y

const errorAt = (text: string, offset: number, expected: string): string => {
  const before = text.slice(0, offset)
  return `line ${before.split("\n").length}, column ${offset - before.lastIndexOf("\n")}: expected ${expected}`
}

/** What may stand next, with the expectation that an error states. */
const expectations = {
  value: "a value",
  firstItem: "a value or ]",
  name: 'a name in "double quotes"',
  firstName: 'a name in "double quotes" or }',
  colon: "a colon",
  comma: "a comma, or the closing bracket",
  end: "the end of the text"
}

/**
 * States the first error of a JSON text, with line and column from 1; `undefined` for valid JSON. Does not recurse: deep
 * input is no problem.
 */
export const findJsonError = (text: string): string | undefined => {
  const open: Array<"{" | "["> = []
  let at = 0
  const take = (token: RegExp): boolean => {
    token.lastIndex = at
    const length = token.exec(text)?.[0].length
    at += length ?? 0
    return length !== undefined
  }
  const afterValue = (): keyof typeof expectations => (open.length === 0 ? "end" : "comma")
  let state: keyof typeof expectations = "value"
  while (true) {
    take(whiteSpace)
    const character = text[at]
    if (character === undefined && state === "end") return undefined
    const closes: boolean =
      (character === "]" && open.at(-1) === "[" && (state === "comma" || state === "firstItem")) ||
      (character === "}" && open.at(-1) === "{" && (state === "comma" || state === "firstName"))
    if (closes) {
      open.pop()
      at += 1
      state = afterValue()
    } else if (state === "value" || state === "firstItem") {
      if (character === "{" || character === "[") {
        open.push(character)
        at += 1
        state = character === "{" ? "firstName" : "firstItem"
      } else if (take(stringToken) || take(literalToken)) state = afterValue()
      else return errorAt(text, at, expectations[state])
    } else if ((state === "name" || state === "firstName") && take(stringToken)) state = "colon"
    else if (state === "colon" && character === ":") {
      at += 1
      state = "value"
    } else if (state === "comma" && character === ",") {
      at += 1
      state = open.at(-1) === "{" ? "name" : "value"
    } else return errorAt(text, at, expectations[state])
  }
}
