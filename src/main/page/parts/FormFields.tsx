import { useId } from "preact/hooks"
import { absent, type Draft, initialDraft } from "../../../domain/page/form/formDraft.ts"
import type { FormField } from "../../../domain/schemas/schemaForm.ts"
import { Select, SmallButton } from "./controls.tsx"
import { LongText, Name } from "./Text.tsx"
import { truncate, visibleLine } from "./visibleText.ts"

interface FieldProps<F extends FormField = FormField> {
  readonly field: F
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
  /** The name of the field for screen readers, unique in the form. */
  readonly label: string
  readonly required: boolean
  readonly id: string
  /** What is wrong with the value. */
  readonly problem?: string | undefined
  /** Values that a text may have. */
  readonly suggestions?: ReadonlyArray<string> | undefined
}

/** The id of a control, and its problem for screen readers. */
const controlAttributes = ({ id, problem }: Pick<FieldProps, "id" | "problem">) =>
  problem === undefined ? { id } : { id, "aria-invalid": true, "aria-describedby": `${id}-problem` }

/** The attributes of a control whose draft is a text. An optional field without text is absent. */
const textAttributes = ({ draft, onChange, required, ...rest }: FieldProps, kind: "Text" | "Json" = "Text") => ({
  ...controlAttributes(rest),
  value: draft._tag === kind ? draft.text : "",
  onInput: ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }) =>
    onChange(value === "" && !required ? absent : { _tag: kind, text: value })
})

type FieldOf<Tag extends FormField["_tag"]> = Extract<FormField, { readonly _tag: Tag }>

const TextField = (props: FieldProps<FieldOf<"Text">>) => {
  const { field, id, suggestions } = props
  const attributes = textAttributes(props)
  const text = attributes.value
  if (field.isSecret === true) return <input {...attributes} autocomplete="off" type="password" />
  if (text.includes("\n") || text.length > 80) return <textarea {...attributes} rows={6} />
  const list = suggestions && `${id}-values`
  return (
    <>
      <input {...attributes} type="text" placeholder={field.format ?? ""} {...(list !== undefined && { list })} />
      {suggestions !== undefined && (
        <datalist id={list}>
          {suggestions.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
    </>
  )
}

const NumberField = (props: FieldProps<FieldOf<"Number">>) => {
  const { integer, max, min } = props.field
  const bounds = min === undefined && max === undefined ? "" : `${min ?? ""}…${max ?? ""}`
  return (
    <input {...textAttributes(props)} type="text" inputMode={integer ? "numeric" : "decimal"} placeholder={bounds} />
  )
}

const JsonField = (props: FieldProps) => (
  <textarea {...textAttributes(props, "Json")} class="code" rows={4} spellcheck={false} placeholder="JSON" />
)

/** The length of a value in a list of choices. */
const maxChoiceLength = 100

const formatChoice = (value: unknown, label: string | undefined): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return visibleLine(truncate(label === undefined || label === text ? text : `${label} (${text})`, maxChoiceLength))
}

interface OptionFieldProps extends Pick<FieldProps, "id" | "problem" | "onChange" | "required"> {
  readonly options: ReadonlyArray<string>
  /** The index of the chosen option. */
  readonly chosen: number | undefined
  readonly draftOf: (index: number) => Draft
  readonly name?: string
}

/** A choice among options. What is optional, or not chosen yet, may have no value. */
const OptionField = ({ chosen, draftOf, name, onChange, options, required, ...rest }: OptionFieldProps) => (
  <Select
    attributes={{ ...controlAttributes(rest), "aria-label": name }}
    value={chosen ?? ""}
    options={[
      ...(!required || chosen === undefined ? [["", "not set"] as const] : []),
      ...options.map((label, index) => [index, label] as const)
    ]}
    onSelect={(value) => onChange(value === "" ? absent : draftOf(Number(value)))}
  />
)

const ListField = ({ draft, field, label, onChange }: FieldProps<FieldOf<"List">>) => {
  const items = draft._tag === "List" ? draft.items : []
  const change = (next: ReadonlyArray<Draft>) => onChange({ _tag: "List", items: next })
  return (
    <div class="nested">
      {items.map((item, index) => (
        <div key={index} class="list-item">
          <Field
            field={field.item}
            draft={item}
            label={`${label} ${index + 1}`}
            required
            onChange={(changed) => change(items.with(index, changed))}
          />
          <SmallButton description={`Remove ${label} ${index + 1}`} onPress={() => change(items.toSpliced(index, 1))}>
            Remove
          </SmallButton>
        </div>
      ))}
      <SmallButton description={`Add to ${label}`} onPress={() => change([...items, initialDraft(field.item)])}>
        Add
      </SmallButton>
    </div>
  )
}

const variantNames: { readonly [Tag in FormField["_tag"]]: string } = {
  Text: "text",
  Number: "number",
  Flag: "true or false",
  Choice: "a fixed value",
  Group: "object",
  List: "list",
  Variants: "one of several",
  Json: "JSON"
}

const VariantsField = ({ draft, field, id, label, onChange, required }: FieldProps<FieldOf<"Variants">>) => {
  const { index, draft: inner = absent } = draft._tag === "Variant" ? draft : { index: undefined }
  const chosen = field.variants[index ?? -1]
  const draftOf = (at: number): Draft => {
    const variant = field.variants[at]
    return variant === undefined ? absent : { _tag: "Variant", index: at, draft: initialDraft(variant) }
  }
  return (
    <div class="nested">
      <OptionField
        id={id}
        name={visibleLine(`Kind of ${label}`)}
        options={field.variants.map(({ _tag, title }, at) => visibleLine(title ?? `${at + 1}: ${variantNames[_tag]}`))}
        chosen={index}
        draftOf={draftOf}
        onChange={onChange}
        required={required}
      />
      {chosen !== undefined && index !== undefined && (
        <Field
          key={index}
          field={chosen}
          draft={inner}
          label={label}
          required
          isInner
          onChange={(changed) => onChange({ _tag: "Variant", index, draft: changed })}
        />
      )}
    </div>
  )
}

interface GroupFieldsProps extends Pick<FieldProps<FieldOf<"Group">>, "draft" | "field" | "onChange"> {
  /** What is wrong with the members, by their names. */
  readonly problems?: ReadonlyMap<string, string>
  /** Values that the texts may have, by the names of their members. */
  readonly suggestions?: ReadonlyMap<string, ReadonlyArray<string>>
  /** A member gets the focus. */
  readonly onFocus?: (name: string) => void
}

/** The members of a group. */
export const GroupFields = ({ draft, field, onChange, onFocus, problems, suggestions }: GroupFieldsProps) => {
  const members: ReadonlyMap<string, Draft> = draft._tag === "Group" ? draft.members : new Map()
  const others = [...members.keys()]
    .filter((name) => field.members.every((member) => member.name !== name))
    .map((name) => ({ name, field: { _tag: "Json" } as const, required: false }))
  return [...field.members, ...others].map(({ field: member, name, required }) => (
    <Field
      key={name}
      field={member}
      draft={members.get(name) ?? absent}
      label={name}
      required={required}
      problem={problems?.get(name)}
      suggestions={suggestions?.get(name)}
      onFocus={onFocus}
      onChange={(changed) => onChange({ _tag: "Group", members: new Map(members).set(name, changed) })}
    />
  ))
}

const Control = (props: FieldProps) => {
  const { draft, field, onChange } = props
  if (draft._tag === "Json" || field._tag === "Json") return <JsonField {...props} />
  switch (field._tag) {
    case "Text":
      return <TextField {...props} field={field} />
    case "Number":
      return <NumberField {...props} field={field} />
    case "Flag": {
      const chosen = draft._tag === "Flag" ? Number(!draft.value) : undefined
      const draftOf = (index: number): Draft => ({ _tag: "Flag", value: index === 0 })
      return <OptionField {...props} options={["true", "false"]} chosen={chosen} draftOf={draftOf} />
    }
    case "Choice": {
      const options = field.values.map((value, index) => formatChoice(value, field.labels?.[index]))
      const chosen = draft._tag === "Choice" ? draft.index : undefined
      return (
        <OptionField {...props} options={options} chosen={chosen} draftOf={(index) => ({ _tag: "Choice", index })} />
      )
    }
    case "List":
      return <ListField {...props} field={field} />
    case "Variants":
      return <VariantsField {...props} field={field} />
    case "Group":
      return (
        <div class="nested">
          <GroupFields field={field} draft={draft} onChange={onChange} />
        </div>
      )
  }
}

/** Fields that consist of other fields, and are a group for screen readers. */
const isComposite = ({ _tag }: FormField): boolean => ["Group", "List", "Variants"].includes(_tag)

interface LabelledFieldProps extends Omit<FieldProps, "id"> {
  /** The field stands inside another one with the same label. */
  readonly isInner?: boolean
  readonly onFocus?: ((label: string) => void) | undefined
}

/** A field with its label and its description. An optional composite field is added by a button. */
const Field = ({ isInner = false, onFocus, ...props }: LabelledFieldProps) => {
  const id = useId()
  const { draft, field, label, onChange, problem, required } = props
  const shownProblem = problem !== undefined && (
    <p id={`${id}-problem`} class="error">
      <Name of={problem} length={1_000} />
    </p>
  )
  const title = (
    <>
      <Name of={label} />
      {field.title !== undefined && field.title !== label && (
        <span class="note">
          {" "}
          <Name of={field.title} />
        </span>
      )}
      {required ? " *" : ""}
    </>
  )
  const description = field.description !== undefined && <LongText text={field.description} />
  if (isComposite(field) && draft._tag !== "Json") {
    if (isInner && draft._tag !== "Absent") return <Control {...props} id={id} />
    return (
      <fieldset>
        <legend>{title}</legend>
        {description}
        {shownProblem}
        {draft._tag === "Absent" ? (
          <SmallButton description={`Add ${label}`} onPress={() => onChange(initialDraft(field))}>
            Add
          </SmallButton>
        ) : (
          <>
            <Control {...props} id={id} />
            {!required && (
              <SmallButton description={`Leave out ${label}`} onPress={() => onChange(absent)}>
                Leave out
              </SmallButton>
            )}
          </>
        )}
      </fieldset>
    )
  }
  return (
    <div class="form-field" {...(onFocus !== undefined && { onFocusIn: () => onFocus(label) })}>
      <label for={id}>{title}</label>
      <Control {...props} id={id} />
      {shownProblem}
      {description}
    </div>
  )
}

interface SchemaFormProps extends Omit<GroupFieldsProps, "field"> {
  /** The form of a schema. */
  readonly field: FormField
  /** Stands instead of a form without members. */
  readonly empty: string
  /** Stands instead of a form that is no group of fields. */
  readonly missing: string
}

/** The form of a schema, or the reason why it is missing. */
export const SchemaForm = ({ empty, field, missing, ...rest }: SchemaFormProps) => {
  if (field._tag !== "Group") return <p class="note">{missing}</p>
  return (
    <>
      {field.members.length === 0 && <p class="note">{empty}</p>}
      <GroupFields {...rest} field={field} />
    </>
  )
}
