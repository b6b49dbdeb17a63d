import { asObject, isJsonObject, type JsonObject } from "../json.ts"
import { definedOnly } from "../objects.ts"
import { asArray, collectSubschemas, isNullSchema, isSecretField, resolveRef } from "./jsonSchema.ts"

/** Deeper fields are entered as JSON. */
export const maxFormDepth = 6

/** Objects with more members are entered as JSON. */
const maxMembers = 100

/** Unions with more alternatives, and enumerations with more values, are entered as JSON. */
const maxAlternatives = 8
const maxChoices = 500

/** A schema can refer to itself: further fields of the form are entered as JSON. */
const maxFields = 500

interface FieldCommon {
  readonly title?: string
  readonly description?: string
  /** The default of the schema. */
  readonly initial?: unknown
  /** The value may also be null, as which an empty required field is sent. */
  readonly nullable?: true
}

export interface FormMember {
  readonly name: string
  readonly required: boolean
  readonly field: FormField
}

/** A value to choose, with its title or else its text. */
interface FormChoice {
  readonly value: unknown
  readonly label: string
}

const choiceOf = (value: unknown, title?: unknown): FormChoice => ({
  value,
  label: textOr(title) ?? (typeof value === "string" ? value : JSON.stringify(value))
})

/** Of a number, of the characters of a text, or of the items of a list. */
export interface Bounds {
  readonly min?: number
  readonly max?: number
}

const boundsOf = (min: unknown, max: unknown): Bounds => definedOnly({ min: numberOr(min), max: numberOr(max) })

/** How a field is entered. A secret text is hidden meanwhile. `Json` is the text area for everything that has no better field. */
type FieldKind =
  | ({ readonly _tag: "Text"; readonly format?: string; readonly isSecret?: true } & Bounds)
  | ({ readonly _tag: "Number"; readonly integer: boolean } & Bounds)
  | { readonly _tag: "Flag" }
  | { readonly _tag: "Choice"; readonly choices: ReadonlyArray<FormChoice> }
  | { readonly _tag: "Group"; readonly members: ReadonlyArray<FormMember> }
  | ({ readonly _tag: "List"; readonly item: FormField } & Bounds)
  | { readonly _tag: "Variants"; readonly variants: ReadonlyArray<FormField> }
  | { readonly _tag: "Json"; readonly isObject?: true }

export type FormField = FieldCommon & FieldKind

const json: FieldKind = { _tag: "Json" }

export type FieldOf<Tag extends FormField["_tag"]> = Extract<FormField, { readonly _tag: Tag }>

/** The form in the making: the root of the schema, and how many fields it may still get. */
interface Form {
  readonly root: JsonObject
  fieldsLeft: number
}

const textOr = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)
const numberOr = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

const commonOf = (schema: JsonObject): FieldCommon => ({
  ...definedOnly({ title: textOr(schema["title"]), description: textOr(schema["description"]) }),
  ...(Object.hasOwn(schema, "default") && { initial: schema["default"] })
})

/** A schema with what its references and a single `allOf` say, over which its own members have precedence. */
const dereference = (root: JsonObject, given: unknown): JsonObject | undefined => {
  const parts = collectSubschemas(root, given, "none")
  const isForeign = ({ $ref }: JsonObject) => typeof $ref === "string" && !isJsonObject(resolveRef(root, $ref))
  const hasSeveral = ({ allOf }: JsonObject) => asArray(allOf).length > 1
  if (parts.length === 0 || parts.some((part) => isForeign(part) || hasSeveral(part))) return undefined
  return parts.reduceRight<JsonObject>((merged, part) => ({ ...merged, ...part }), {})
}

/** Keywords that a field cannot show: a form for the rest would hide them. */
const hasHiddenRules = (schema: JsonObject): boolean =>
  ["if", "not", "dependentSchemas", "patternProperties", "prefixItems"].some((name) => Object.hasOwn(schema, name))

const groupOf = (form: Form, schema: JsonObject, depth: number): FieldKind => {
  const { additionalProperties, properties, required } = schema
  const members = Object.entries(asObject(properties))
  const isOpen = isJsonObject(additionalProperties) || (members.length === 0 && additionalProperties !== false)
  if ((isOpen && depth > 0) || members.length > maxMembers) return json
  return {
    _tag: "Group",
    members: members.map(([name, member]) => ({
      name,
      required: asArray(required).includes(name),
      field: fieldOf(form, member, depth + 1)
    }))
  }
}

const choicesOrJson = (choices: ReadonlyArray<FormChoice>): FieldKind =>
  choices.length > 0 && choices.length <= maxChoices ? { _tag: "Choice", choices } : json

/** The field of alternatives, with the members that stand beside them. */
const variantsOf = (form: Form, rest: JsonObject, given: ReadonlyArray<unknown>, depth: number): FieldKind => {
  const areConstants = given.every((one) => Object.hasOwn(asObject(one), "const"))
  const isTooLong = given.length > (areConstants ? maxChoices : maxAlternatives)
  if (isTooLong || Object.hasOwn(rest, "properties")) return json
  const [only] = given
  if (given.length === 1 && isJsonObject(only)) return fieldOf(form, { ...only, ...rest }, depth + 1)
  const variants = given.map((variant) => fieldOf(form, variant, depth + 1))
  if (variants.some(({ _tag }) => _tag !== "Choice")) return { _tag: "Variants", variants }
  // The title of a single value is that of its alternative.
  return choicesOrJson(
    variants.flatMap((field) => {
      const choices = field._tag === "Choice" ? field.choices : []
      return choices.length > 1 ? choices : choices.map(({ label, value }) => choiceOf(value, field.title ?? label))
    })
  )
}

const typedKindOf = (form: Form, schema: JsonObject, type: unknown, depth: number): FieldKind => {
  const { format, items, maxItems, maxLength, maximum, minItems, minLength, minimum } = schema
  switch (type) {
    case "string": {
      const kind = definedOnly({ format: textOr(format), isSecret: isSecretField(schema) || undefined })
      return { _tag: "Text", ...kind, ...boundsOf(minLength, maxLength) }
    }
    case "number":
    case "integer":
      return { _tag: "Number", integer: type === "integer", ...boundsOf(minimum, maximum) }
    case "boolean":
      return { _tag: "Flag" }
    case "null":
      return choicesOrJson([choiceOf(null)])
    case "object":
      return groupOf(form, schema, depth)
    case "array":
      if (isJsonObject(items))
        return { _tag: "List", item: fieldOf(form, items, depth + 1), ...boundsOf(minItems, maxItems) }
  }
  return json
}

const kindOf = (form: Form, schema: JsonObject, depth: number): FieldKind => {
  const { anyOf, oneOf, ...rest } = schema
  const { const: constant, enum: values, enumNames, properties, type: types } = rest
  if (constant !== undefined) return choicesOrJson([choiceOf(constant)])
  if (Array.isArray(values))
    return choicesOrJson(values.map((value: unknown, index) => choiceOf(value, asArray(enumNames)[index])))
  form.fieldsLeft -= 1
  if (depth >= maxFormDepth || form.fieldsLeft < 0 || hasHiddenRules(schema)) return json
  const alternatives = asArray(anyOf ?? oneOf)
  if (alternatives.length > 0) return variantsOf(form, rest, alternatives, depth)
  const [type = isJsonObject(properties) ? "object" : undefined, ...others] = [types].flat()
  if (others.length === 0) return typedKindOf(form, schema, type, depth)
  // A list of types is alternatives of one type each.
  const { default: _default, description: _description, title: _title, ...common } = rest
  return variantsOf(
    form,
    rest,
    [type, ...others].map((one) => ({ ...common, type: one })),
    depth
  )
}

/** A schema that lists null beside others, without it: `Optional` of Pydantic. A default of null is that of an empty field. */
const withoutNull = (schema: JsonObject): JsonObject | undefined => {
  const key = ["const", "enumNames", "enum", "anyOf", "oneOf", "type"].find((name) => Object.hasOwn(schema, name)) ?? ""
  const listed: ReadonlyArray<unknown> = ["const", "enumNames"].includes(key) ? [] : asArray(schema[key])
  const isNull = (one: unknown) => (key === "enum" ? one === null : one === "null" || isNullSchema(one))
  const others = listed.filter((one) => !isNull(one))
  if (others.length === 0 || others.length === listed.length) return undefined
  const { default: initial, ...rest } = schema
  return { ...rest, [key]: others, ...(initial != null && { default: initial }) }
}

const fieldOf = (form: Form, given: unknown, depth: number): FormField => {
  const schema = dereference(form.root, given)
  if (schema === undefined) return { ...commonOf(asObject(given)), ...json }
  const optional = withoutNull(schema)
  if (optional !== undefined) return { ...fieldOf(form, optional, depth), nullable: true }
  return { ...commonOf(schema), ...kindOf(form, schema, depth) }
}

/** The text area of a JSON object. */
export const jsonObjectField: FormField = { _tag: "Json", isObject: true }

/** The form of the parameters of a tool. Its top is a group, or a JSON text area. */
export const formOfSchema = (schema: JsonObject): FormField => {
  const field = fieldOf({ root: schema, fieldsLeft: maxFields }, schema, 0)
  return field._tag === "Group" ? field : jsonObjectField
}
