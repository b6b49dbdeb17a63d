import { isJsonObject, type JsonObject } from "../json.ts"
import { definedOnly } from "../objects.ts"
import { asArray, isNullSchema, isSecretField, resolveRef } from "./jsonSchema.ts"

/** Deeper fields are entered as JSON. */
export const maxFormDepth = 6

/** Objects with more members are entered as JSON. */
const maxMembers = 100

/** Unions with more alternatives, and enumerations with more values, are entered as JSON. */
const maxAlternatives = 8
const maxChoices = 500

/** A schema can refer to itself: further fields of the form are entered as JSON. */
const maxFields = 500

/** References that are followed in a row. */
const maxReferences = 16

interface FieldCommon {
  readonly title?: string
  readonly description?: string
  /** The default of the schema. */
  readonly initial?: unknown
  /** The value may also be null, as which an empty required field is sent. */
  readonly nullable?: true
}

interface FormMember {
  readonly name: string
  readonly required: boolean
  readonly field: FormField
}

/** A field of a form. `Json` is the text area for everything that has no better field. */
export type FormField = FieldCommon &
  /** A secret one is hidden while it is entered. */
  (
    | {
        readonly _tag: "Text"
        readonly format?: string
        readonly isSecret?: true
        readonly minLength?: number
        readonly maxLength?: number
      }
    | { readonly _tag: "Number"; readonly integer: boolean; readonly min?: number; readonly max?: number }
    | { readonly _tag: "Flag" }
    /** `labels` are the titles of the values. */
    | {
        readonly _tag: "Choice"
        readonly values: ReadonlyArray<unknown>
        readonly labels?: ReadonlyArray<string | undefined>
      }
    | { readonly _tag: "Group"; readonly members: ReadonlyArray<FormMember> }
    | { readonly _tag: "List"; readonly item: FormField; readonly min?: number; readonly max?: number }
    | { readonly _tag: "Variants"; readonly variants: ReadonlyArray<FormField> }
    | { readonly _tag: "Json" }
  )

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

/** Follows references and a single `allOf`; members beside them have precedence. `undefined` for a foreign reference. */
const dereference = (root: JsonObject, given: unknown): JsonObject | undefined => {
  let schema = given
  for (let count = 0; count < maxReferences; count++) {
    if (!isJsonObject(schema)) return undefined
    const { $ref, allOf, ...rest } = schema
    if (typeof $ref === "string") {
      const target = resolveRef(root, $ref)
      if (!isJsonObject(target)) return undefined
      schema = { ...target, ...rest }
    } else if (Array.isArray(allOf) && allOf.length === 1 && isJsonObject(allOf[0])) schema = { ...allOf[0], ...rest }
    else return schema
  }
  return undefined
}

/** Keywords that a field cannot show: a form for the rest would hide them. */
const hasHiddenRules = (schema: JsonObject): boolean =>
  ["allOf", "if", "not", "dependentSchemas", "patternProperties", "prefixItems"].some((name) =>
    Object.hasOwn(schema, name)
  )

const groupOf = (form: Form, schema: JsonObject, depth: number): FormField => {
  const { additionalProperties, properties, required } = schema
  const common = commonOf(schema)
  const members = isJsonObject(properties) ? Object.entries(properties) : []
  const isOpen = isJsonObject(additionalProperties) || (members.length === 0 && additionalProperties !== false)
  if ((isOpen && depth > 0) || members.length > maxMembers) return { ...common, _tag: "Json" }
  const names: ReadonlyArray<unknown> = Array.isArray(required) ? required : []
  return {
    ...common,
    _tag: "Group",
    members: members.map(([name, member]) => ({
      name,
      required: names.includes(name),
      field: fieldOf(form, member, depth + 1)
    }))
  }
}

const variantsOf = (form: Form, schema: JsonObject, given: ReadonlyArray<unknown>, depth: number): FormField => {
  const common = commonOf(schema)
  const { anyOf: _anyOf, oneOf: _oneOf, ...rest } = schema
  const isPlain = !Object.hasOwn(rest, "properties")
  if (given.length === 0 || given.length > maxAlternatives || !isPlain) return { ...common, _tag: "Json" }
  const [only] = given
  if (given.length === 1 && isJsonObject(only)) return fieldOf(form, { ...only, ...rest }, depth + 1)
  const variants = given.map((variant) => fieldOf(form, variant, depth + 1))
  const areChoices = variants.every(({ _tag }) => _tag === "Choice")
  const choices = variants.flatMap((field) => (field._tag === "Choice" ? choicesOf(field) : []))
  return areChoices && choices.length <= maxChoices
    ? choiceOf(common, choices)
    : { ...common, _tag: "Variants", variants }
}

interface TitledValue {
  readonly value: unknown
  readonly label: string | undefined
}

/** The values of a choice. A title belongs to the value when there is one. */
const choicesOf = ({ labels, title, values }: Extract<FormField, { readonly _tag: "Choice" }>) =>
  values.map(
    (value, index): TitledValue => ({ value, label: labels?.[index] ?? (values.length === 1 ? title : undefined) })
  )

const choiceOf = (common: FieldCommon, choices: ReadonlyArray<TitledValue>): FormField => {
  const labels = choices.map(({ label }) => label)
  const isTitled = labels.some((label) => label !== undefined)
  return { ...common, _tag: "Choice", values: choices.map(({ value }) => value), ...(isTitled && { labels }) }
}

/** Values of a `const` with titles, which are one enumeration. */
const constantsOf = (given: ReadonlyArray<unknown>): ReadonlyArray<TitledValue> | undefined => {
  const constants = given.flatMap((one) =>
    isJsonObject(one) && Object.hasOwn(one, "const") ? [{ value: one["const"], label: textOr(one["title"]) }] : []
  )
  return constants.length > 0 && constants.length === given.length && given.length <= maxChoices ? constants : undefined
}

const typedFieldOf = (form: Form, schema: JsonObject, type: unknown, depth: number): FormField => {
  const common = commonOf(schema)
  switch (type) {
    case "string": {
      const lengths = { minLength: numberOr(schema["minLength"]), maxLength: numberOr(schema["maxLength"]) }
      const format = textOr(schema["format"])
      const isSecret = isSecretField(schema) && { isSecret: true as const }
      return { ...common, _tag: "Text", ...definedOnly({ format, ...lengths }), ...isSecret }
    }
    case "number":
    case "integer": {
      const bounds = definedOnly({ min: numberOr(schema["minimum"]), max: numberOr(schema["maximum"]) })
      return { ...common, _tag: "Number", integer: type === "integer", ...bounds }
    }
    case "boolean":
      return { ...common, _tag: "Flag" }
    case "null":
      return { ...common, _tag: "Choice", values: [null] }
    case "object":
      return groupOf(form, schema, depth)
    case "array":
      if (isJsonObject(schema["items"])) {
        const lengths = definedOnly({ min: numberOr(schema["minItems"]), max: numberOr(schema["maxItems"]) })
        return { ...common, _tag: "List", item: fieldOf(form, schema["items"], depth + 1), ...lengths }
      }
  }
  return { ...common, _tag: "Json" }
}

/** A list of types as alternatives of one type each. */
const typeVariants = (
  { default: _default, description: _description, title: _title, ...rest }: JsonObject,
  types: ReadonlyArray<unknown>
): ReadonlyArray<JsonObject> => types.map((type) => ({ ...rest, type }))

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
  const optional = schema && withoutNull(schema)
  if (optional !== undefined) return { ...fieldOf(form, optional, depth), nullable: true }
  form.fieldsLeft -= 1
  if (schema === undefined) return { ...(isJsonObject(given) && commonOf(given)), _tag: "Json" }
  const common = commonOf(schema)
  if (Object.hasOwn(schema, "const")) return { ...common, _tag: "Choice", values: [schema["const"]] }
  const { anyOf, enum: values, enumNames, oneOf, properties, type: types } = schema
  const type: unknown = Array.isArray(types) && types.length === 1 ? types[0] : types
  if (Array.isArray(values)) {
    const names: ReadonlyArray<unknown> = Array.isArray(enumNames) ? enumNames : []
    const choices = values.map((value: unknown, index) => ({ value, label: textOr(names[index]) }))
    return choices.length > 0 && choices.length <= maxChoices ? choiceOf(common, choices) : { ...common, _tag: "Json" }
  }
  if (depth >= maxFormDepth || form.fieldsLeft < 0 || hasHiddenRules(schema)) return { ...common, _tag: "Json" }
  const alternatives: unknown = anyOf ?? oneOf
  const constants = Array.isArray(alternatives) ? constantsOf(alternatives) : undefined
  if (constants !== undefined) return choiceOf(common, constants)
  if (Array.isArray(alternatives)) return variantsOf(form, schema, alternatives, depth)
  if (Array.isArray(type)) return variantsOf(form, schema, typeVariants(schema, type), depth)
  return typedFieldOf(form, schema, type ?? (isJsonObject(properties) ? "object" : undefined), depth)
}

/** The form of the parameters of a tool. Its top is a group, or a JSON text area. */
export const formOfSchema = (schema: JsonObject): FormField => {
  const field = fieldOf({ root: schema, fieldsLeft: maxFields }, schema, 0)
  return field._tag === "Group" ? field : { _tag: "Json" }
}
